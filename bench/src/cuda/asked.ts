/** A program that answers one line with one line. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export class Asked {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /**
   * @returns the samples, in nanoseconds
   * @throws when the program ends instead; what it said is on stderr.
   */
  async ask(request: string): Promise<number[]> {
    this.#child.stdin.write(`${request}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`${this.#child.spawnfile} ended at "${request}"`);
    return JSON.parse(value) as number[];
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.stdin.end();
    await ended;
  }
}
