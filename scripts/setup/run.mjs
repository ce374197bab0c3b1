import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { environment, home, root } from './paths.mjs';
import { SetupError } from './problems.mjs';

const TAIL_LINES = 20;

/** Runs programs one after the other, their output in a log of the step; only a failure is shown. */
export class StepLog {
  constructor(name) {
    mkdirSync(join(home, 'logs'), { recursive: true });
    this.name = name;
    this.path = join(home, 'logs', `${name}.log`);
    this.file = openSync(this.path, 'w');
  }

  close() {
    closeSync(this.file);
  }

  /** @throws {SetupError} with the end of the log when the program fails */
  async run(program, args, { env = {}, cwd = root } = {}) {
    writeSync(this.file, `$ ${[program, ...args].join(' ')}\n`);
    const child = spawn(program, args, { cwd, env: environment(env), stdio: ['ignore', this.file, this.file] });
    const end = () => child.kill('SIGTERM');
    process.once('exit', end);
    const result = await new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) =>
        resolve(code === 0 ? undefined : `it ended with ${signal ?? `code ${code}`}`),
      );
    });
    process.off('exit', end);
    if (result === undefined) return;
    const tail = readFileSync(this.path, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
    throw new SetupError(
      `${tail}\n\nSet-up stopped at "${this.name}": ${program} failed (${result}). The whole output: ${this.path}. The same command again goes on from here.`,
    );
  }
}
