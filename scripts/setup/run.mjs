import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment, home, root } from './paths.mjs';
import { SetupError } from './problems.mjs';

const TAIL_LINES = 20;
const guard = fileURLToPath(new URL('guard.mjs', import.meta.url));

/** Runs programs one after the other, their output in a log of the step; only a failure is shown. */
export class StepLog {
  /**
   * @param {string} name
   * @param {{ descriptor: number, signal: AbortSignal, folder?: string }} run `descriptor` of the lock, which the programs
   *   hold too; `signal` ends them; `folder` is where the log goes
   */
  constructor(name, { descriptor, signal, folder = join(home, 'logs') }) {
    mkdirSync(folder, { recursive: true });
    this.name = name;
    this.descriptor = descriptor;
    this.signal = signal;
    this.path = join(folder, `${name}.log`);
    this.file = openSync(this.path, 'w');
  }

  close() {
    closeSync(this.file);
  }

  /**
   * Resolves when the program has ended well.
   *
   * @throws {SetupError} with the end of the log when the program fails; the reason of `signal`, once all is gone
   */
  async run(program, args, { env = {}, cwd = root } = {}) {
    this.signal.throwIfAborted();
    writeSync(this.file, `$ ${[program, ...args].join(' ')}\n`);
    const child = spawn(process.execPath, [guard, program, ...args], {
      cwd,
      env: environment(env),
      stdio: ['pipe', this.file, this.file, this.descriptor],
      // A Ctrl-C of the terminal reaches only us.
      detached: true,
    });
    child.stdin.on('error', () => undefined);
    const end = () => child.stdin.destroy();
    this.signal.addEventListener('abort', end);
    const result = await new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) =>
        resolve(code === 0 ? undefined : `it ended with ${signal ?? `code ${code}`}`),
      );
    });
    this.signal.removeEventListener('abort', end);
    this.signal.throwIfAborted();
    if (result === undefined) return;
    const tail = readFileSync(this.path, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
    throw new SetupError(
      `${tail}\n\nSet-up stopped at "${this.name}": ${program} failed (${result}). The whole output: ${this.path}. The same command again goes on from here.`,
    );
  }
}
