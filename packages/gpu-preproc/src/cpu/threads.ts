import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { missingBands } from './bands.js';
import type { Job } from './messages.js';
import { Thread } from './thread.js';

// Bundled code lies in dist, sources two folders deep. A bundle of another maker may have neither.
const PROGRAM = ['./worker.js', '../../dist/worker.js']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => url.protocol === 'file:' && existsSync(fileURLToPath(url)));

/** Jobs that are at the threads at once: one that is written, and one whose picture is being copied meanwhile. */
const MOST_JOBS = 2;

/**
 * The threads of the CPU path. Our own hundred lines rather than a pool from npm (piscina, tinypool): those give one task
 * to one thread, and here all threads take bands of one tensor from shared memory, without a message for each; what is left
 * of a pool, starting, replacing and `unref`, is most of this file.
 *
 * Threads are started by the first job that can use them, and again by the next one after a thread was lost. They live
 * until the process ends, which they do not hinder. Where fewer can be started, as under a limit of a container, those do
 * the work; where none can, there are none from then on.
 */
export class Threads {
  readonly size: number;
  readonly #program: URL | undefined;
  readonly #threads = new Set<Thread>();
  readonly #waiting: (() => void)[] = [];
  #unavailable: string | undefined;
  #running = 0;
  /** How many may be started: `size`, or as many as could be. */
  #most: number;

  constructor(size = availableParallelism(), program = PROGRAM) {
    this.size = size;
    this.#most = size;
    this.#program = program;
    if (program === undefined)
      this.#unavailable =
        "the thread's program, worker.js, is not beside this package's code (a bundler must leave the package external)";
  }

  /** Why there are no threads. */
  get unavailable(): string | undefined {
    return this.#unavailable;
  }

  /** Those that run now. */
  get threads(): readonly Thread[] {
    return Array.from(this.#threads);
  }

  /** Runs `work` when fewer than two others do. */
  async admit<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= MOST_JOBS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  /**
   * Lets all threads write the job's bands. Resolves when none of them touches the tensor any more, with what went wrong;
   * bands may be missing then.
   */
  run(job: Job): Promise<string[]> {
    this.#start();
    const threads = Array.from(this.#threads);
    const failures: string[] = [];
    let left = threads.length;
    if (left === 0) return Promise.resolve(failures);
    return new Promise((resolve) => {
      for (const thread of threads) {
        void thread.run(job).then((failure) => {
          left -= 1;
          if (failure !== undefined) failures.push(failure);
          // A thread that is still starting finds nothing to do later on.
          if (left === 0 || missingBands(job.bands).length === 0) resolve(failures);
        });
      }
    });
  }

  #start(): void {
    const ended = (thread: Thread, why: string, started: boolean): void => {
      this.#threads.delete(thread);
      // One that ran is replaced; one that never did would be started for each job in vain.
      if (!started) this.#makeDo(why);
    };
    try {
      while (this.#threads.size < this.#most && this.#program !== undefined) {
        this.#threads.add(new Thread(this.#program, ended));
      }
    } catch (error) {
      this.#makeDo(error instanceof Error ? error.message : String(error));
    }
  }

  /** With the threads there are: more can't be started. */
  #makeDo(why: string): void {
    this.#most = Math.min(this.#most, this.#threads.size);
    if (this.#most === 0) this.#unavailable = why;
  }
}
