import { debugTrace, describeError } from './errors.js';
import type { ExitCode } from './exit-codes.js';

/** Results go to stdout; everything else, one line each, to stderr. */
export class Terminal {
  readonly #stdout: NodeJS.WritableStream;
  readonly #stderr: NodeJS.WritableStream;
  readonly #debug: boolean;

  constructor(stdout: NodeJS.WritableStream, stderr: NodeJS.WritableStream, options: { readonly debug: boolean }) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#debug = options.debug;
  }

  /** A result. */
  print(text: string): void {
    this.#stdout.write(text);
  }

  /** What is going on. */
  progress(line: string): void {
    this.#stderr.write(`${line}\n`);
  }

  /** An error that the exit code tells of too. @returns that exit code */
  fail(error: unknown): ExitCode {
    const { sentence, exitCode } = describeError(error);
    this.#report(sentence, error);
    return exitCode;
  }

  /** Something that did not work but changes no result. */
  warn(error: unknown): void {
    this.#report(`warning: ${describeError(error).sentence}`, error);
  }

  #report(sentence: string, error: unknown): void {
    this.#stderr.write(`zerohop: ${sentence}\n`);
    if (this.#debug) this.#stderr.write(`${debugTrace(error)}\n`);
  }
}
