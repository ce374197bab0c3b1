import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type LocalTriton, type StartTritonOptions, startTriton } from '@zerohop/local-triton';
import { inject } from 'vitest';
import { repositoryRoot } from './repository.js';

/** Where the server of the whole tier listens. */
export interface SharedTriton {
  grpcUrl: string;
  httpUrl: string;
  metricsUrl: string;
  /** Its process; not to be killed, other tests use it. */
  pid: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    triton: SharedTriton | undefined;
  }
}

/**
 * The one real server that the files of a tier share (triton or gpu). It serves tests/models and models, and knows
 * bench/models, in explicit mode: a test may load and unload models if it puts them back. Its address is also in the
 * environment, for child processes: `TRITON_URL`, `TRITON_HTTP_URL`, `TRITON_METRICS_URL`.
 */
export function sharedTriton(): SharedTriton {
  const triton = inject('triton');
  if (triton === undefined) throw new Error('The shared Triton server runs only for tests in the triton and gpu tiers');
  return triton;
}

/**
 * Starts a server of the test's own, for what would disturb others: killing it, unregistering everything, odd options.
 * Default repository: tests/models. The test must stop it, in `finally` or `onTestFinished`.
 */
export async function privateTriton(options: Partial<StartTritonOptions> = {}): Promise<LocalTriton> {
  return startTriton({ modelRepository: testModels, ...options });
}

/** The model repository of the tests. */
export const testModels: string = join(repositoryRoot, 'tests', 'models');

/** Every model repository of the clone. The models of the first two are loaded at once, the bench's when asked for. */
export function modelRepositories(): { loaded: string[]; others: string[] } {
  const there = (...names: string[]): string[] =>
    names.map((name) => join(repositoryRoot, name)).filter((path) => existsSync(path));
  return { loaded: there('tests/models', 'models'), others: there('bench/models') };
}

/** Folders with built native backends; empty before they are built. */
export function backendDirectories(): string[] {
  return [join(repositoryRoot, 'bench', 'backend', 'build')].filter((path) => existsSync(path));
}

/** Names of the models in a repository. */
export function modelNames(repository: string): string[] {
  return readdirSync(repository, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(repository, entry.name, 'config.pbtxt')))
    .map((entry) => entry.name);
}
