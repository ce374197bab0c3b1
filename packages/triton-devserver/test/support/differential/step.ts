import type { Surroundings } from './grpc-requests.js';
import type { Outcome, Server } from './servers.js';

/** One thing that is asked of both servers. */
export interface Step {
  readonly what: string;
  readonly kind: string;
  readonly transport: 'grpc' | 'http';
  /** Whether it names a region or is about one. */
  readonly aboutRegions: boolean;
  /** Requests it counts as. */
  readonly count: number;
  readonly ask: (server: Server) => Promise<readonly Outcome[]>;
  /** Within this it ends, or never does. */
  readonly longestMs?: number;
  /** Told what the real server answered. */
  readonly done?: (outcomes: readonly Outcome[]) => void;
}

/** A step whose kind and transport the list of kinds knows. */
export type StepDraft = Omit<Step, 'kind' | 'transport' | 'aboutRegions'>;
export type MakeStep = (around: Surroundings) => StepDraft;

export const isFine = (outcome: Outcome | undefined): boolean =>
  outcome?.code === 0 || String(outcome?.code).startsWith('HTTP/1.1 200');

export const show = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part));
