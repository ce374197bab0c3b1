import { Worker } from 'node:worker_threads';
import { type Answer, type Job, READY } from './messages.js';

type Settle = (failure: string | undefined) => void;

/** A worker thread as the JS thread sees it. It keeps the process alive only while it has a job. */
export class Thread {
  readonly #worker: Worker;
  readonly #jobs = new Map<number, Settle>();
  #lastError = 'it was terminated';

  /**
   * @param ended is told when the thread is no more, and whether its program ever ran
   * @throws Error when the system or the permissions of the process allow no thread
   */
  constructor(program: URL, ended: (thread: Thread, why: string, started: boolean) => void) {
    let started = false;
    // Flags of this process, such as a loader, are not meant for it.
    this.#worker = new Worker(program, { execArgv: [], name: 'zerohop-preproc' });
    this.#worker.unref();
    this.#worker.on('message', (message: typeof READY | Answer) => {
      if (message === READY) started = true;
      else this.#settle(message.id, message.failure);
    });
    this.#worker.on('error', (error) => {
      this.#lastError = error instanceof Error ? error.message : String(error);
    });
    this.#worker.on('exit', () => {
      const why = `a thread ended: ${this.#lastError}`;
      ended(this, why, started);
      for (const id of Array.from(this.#jobs.keys())) this.#settle(id, why);
    });
  }

  /** Resolves when the thread does not touch the job's memory any more, with why if it could not finish its part. */
  run(job: Job): Promise<string | undefined> {
    return new Promise((resolve) => {
      if (this.#jobs.size === 0) this.#worker.ref();
      this.#jobs.set(job.id, resolve);
      try {
        this.#worker.postMessage(job);
      } catch (error) {
        // What the caller's objects carry beside what is read may be impossible to send.
        this.#settle(job.id, error instanceof Error ? error.message : String(error));
      }
    });
  }

  /** Ends the thread, in the middle of what it does. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(id: number, failure: string | undefined): void {
    const settle = this.#jobs.get(id);
    this.#jobs.delete(id);
    if (this.#jobs.size === 0) this.#worker.unref();
    settle?.(failure);
  }
}
