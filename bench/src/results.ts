/** The shape of a results file. Times in microseconds unless the name says otherwise. */
import type { Machine } from './machine.js';
import type { Spread } from './statistics.js';
import type { ClientName, Transport, Work } from './tables.js';

/** What one client saw in one measurement. */
export interface Measurement {
  readonly requests: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly requestsPerSecond: number;
  /** User and system time of the client's process, all its threads, per request. Not known for perf_analyzer. */
  readonly clientCpuUs?: number;
}

/** The server's own statistics over one measurement, warm-up included, per request. */
export interface ServerTimes {
  readonly queueUs: number;
  readonly inputUs: number;
  readonly inferUs: number;
  readonly outputUs: number;
}

export interface Round extends Measurement {
  readonly round: number;
  readonly server?: ServerTimes;
}

export interface Row {
  readonly table: string;
  readonly model: string;
  readonly backend: 'native' | 'python';
  readonly client: ClientName;
  readonly transport: Transport;
  readonly inFlight: number;
  readonly work: Work;
  readonly rounds: readonly Round[];
  readonly summary: Readonly<Record<'p50Us' | 'p99Us' | 'requestsPerSecond', Spread>> & {
    readonly clientCpuUs?: Spread;
  };
}

/** Ours against a peer on the same model, transport and number in flight, round by round. Below 1 is faster. */
export interface Ratio {
  readonly table: string;
  readonly backend: 'native' | 'python';
  readonly peer: ClientName;
  readonly transport: Transport;
  readonly inFlight: number;
  readonly p50: Spread & { readonly perRound: readonly number[] };
}

export interface TransportResults {
  readonly kind: 'transports';
  readonly date: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  /** `complete` is false when time ran out before every row had its rounds. */
  readonly parameters: { readonly durationMs: number; readonly warmUpMs: number; readonly complete: boolean };
  readonly tables: readonly { readonly id: string; readonly title: string }[];
  readonly rows: readonly Row[];
  readonly ratios: readonly Ratio[];
  /** Rows that did not run, and why. */
  readonly skipped: readonly { readonly row: string; readonly reason: string }[];
}
