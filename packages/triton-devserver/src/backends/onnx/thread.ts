import { Worker } from 'node:worker_threads';
import { internal } from '../../status.js';
import { guardExit, newControl, unguardExit } from './exit-guard.js';
import type { Answer, Described, Sent } from './messages.js';
import { runtimeFile } from './runtime.js';
import type { SessionOptions } from './session-options.js';
import { PROGRAM, type WorkerData } from './worker.js';

/** How many buffers of inputs are kept for the next ones: those of the last execution, for all models there are. */
const MOST_SPARE = 8;

/** Where an answer of the thread goes. */
interface Waiting {
  readonly resolve: (outputs: readonly Sent[]) => void;
  readonly reject: (error: Error) => void;
}

/** A session of ONNX Runtime in a thread of its own, as `run()` keeps its thread until it is done. */
export class OnnxThread {
  /** Resolves, with why, when the thread has ended without being closed. */
  readonly lost: Promise<string>;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<unknown>;
  #spare: readonly ArrayBuffer[] = [];
  #lose!: (reason: string) => void;
  #next = 0;
  #closing = false;
  #over: string | undefined;
  #tensors: Described = { inputs: [], outputs: [] };

  private constructor(worker: Worker) {
    this.#worker = worker;
    this.#exited = new Promise((resolve) => worker.once('exit', resolve));
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
  }

  /** Reads a file. Rejects when onnxruntime-node is not installed or can't read it; no thread is left then. */
  static async open(path: string, options: SessionOptions): Promise<OnnxThread> {
    const control = newControl();
    const workerData: WorkerData = { runtime: runtimeFile(), path, options, control };
    // Flags of this process, such as one that makes all evaluated code a module, are not meant for it.
    const thread = new OnnxThread(new Worker(PROGRAM, { eval: true, execArgv: [], workerData }));
    guardExit(control);
    void thread.#exited.then(() => unguardExit(control));
    try {
      await thread.#opened();
    } catch (error) {
      thread.#closing = true;
      await thread.#exited;
      throw error;
    }
    return thread;
  }

  /** The file's inputs and outputs. */
  get tensors(): Described {
    return this.#tensors;
  }

  /** Executions that were begun and have not ended; no end of them when the thread has ended. */
  get pending(): number {
    return this.#over === undefined ? this.#waiting.size : Number.POSITIVE_INFINITY;
  }

  /** A buffer for an input: one of an earlier execution where one fits, as fresh memory costs more than the copy into it. */
  buffer(byteLength: number): ArrayBuffer {
    const found = this.#spare.find((each) => each.byteLength === byteLength);
    if (found === undefined) return new ArrayBuffer(byteLength);
    this.#spare = this.#spare.filter((each) => each !== found);
    return found;
  }

  /**
   * Executes the model; several executions run one after the other. Buffers of inputs are given away.
   *
   * @throws ServerError that says what ONNX Runtime says, or that the thread has ended
   */
  run(inputs: readonly Sent[], outputs: readonly string[]): Promise<readonly Sent[]> {
    if (this.#over !== undefined) return Promise.reject(internal(this.#over));
    const id = this.#next;
    this.#next += 1;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const buffers = inputs.flatMap(({ data }) => (data instanceof ArrayBuffer ? [data] : []));
      this.#worker.postMessage({ id, inputs, outputs }, buffers);
    });
  }

  /** Ends the thread after what it was told to execute. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#worker.postMessage('close');
    await this.#exited;
  }

  #opened(): Promise<void> {
    return new Promise((resolve, reject) => {
      let why = '';
      this.#worker.on('error', (error) => {
        why = `: ${error.message}`;
        reject(error);
      });
      this.#worker.on('exit', () => {
        this.#over = `the thread of the ONNX model has ended${why}`;
        for (const waiting of this.#waiting.values()) waiting.reject(internal(this.#over));
        this.#waiting.clear();
        this.#spare = [];
        reject(new Error(this.#over));
        if (!this.#closing) this.#lose(`Internal: ${this.#over}`);
      });
      this.#worker.on('message', (answer: Answer) => {
        if ('described' in answer) {
          this.#tensors = answer.described;
          resolve();
        } else if ('failed' in answer) reject(internal(`onnx runtime error: ${answer.failed}`));
        else this.#settle(answer);
      });
    });
  }

  #settle(answer: Extract<Answer, { readonly id: number }>): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('error' in answer) {
      waiting?.reject(internal(`onnx runtime error: ${answer.error}`));
      return;
    }
    this.#spare = answer.spare.slice(0, MOST_SPARE);
    waiting?.resolve(answer.outputs);
  }
}
