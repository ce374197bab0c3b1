import type { Job, RunBatch, Scheduler } from './job.js';

/**
 * The scheduler of a model without batching: one request for each instance at a time, in order. A request that was
 * cancelled while it waited runs all the same (seen on 2.51 and 2.48).
 */
export class DirectScheduler implements Scheduler {
  readonly #run: RunBatch;
  readonly #waiting: Job[] = [];
  #free: number;

  constructor(instances: number, run: RunBatch) {
    this.#run = run;
    this.#free = instances;
  }

  get pending(): number {
    return this.#waiting.length;
  }

  enqueue(job: Job): void {
    this.#waiting.push(job);
    this.#next();
  }

  close(): void {
    // Nothing but what waits, and that still runs.
  }

  #next(): void {
    while (this.#free > 0) {
      const job = this.#waiting.shift();
      if (job === undefined) return;
      this.#free -= 1;
      void this.#run([job]).then(() => {
        this.#free += 1;
        this.#next();
      });
    }
  }
}
