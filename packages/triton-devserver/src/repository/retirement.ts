import type { LoadedModel, ModelEntry, RunningVersion } from './model-entry.js';
import { closeInstance } from './start-versions.js';

/** Loads that end in the background: the requests under way finish first. */
export class Retirement {
  readonly #ending = new Set<Promise<void>>();

  /** Ends a load, version by version, each when its last request has been answered. */
  add(entry: ModelEntry, { model, running }: LoadedModel): void {
    const ended = Promise.all([...running].map(([version, each]) => end(entry, version, each)))
      // What can't be removed of a temporary folder stays for the system to clean up.
      .then(() => model.dispose?.().catch(() => undefined))
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  /** Resolves when nothing is ending any more. */
  async settled(): Promise<void> {
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }
}

async function end(entry: ModelEntry, version: number, running: RunningVersion): Promise<void> {
  entry.leave(version, running, 'UNLOADING');
  await running.runner.drained();
  await closeInstance(running.instance);
  entry.leave(version, running, 'UNAVAILABLE');
}
