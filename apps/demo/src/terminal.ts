import { CliError, codeOf, debugTrace, describeError, sentenceOf } from './errors.js';
import type { ExitCode } from './exit-codes.js';

/** Results go to stdout; everything else, one line each, to stderr. */
export class Terminal {
  readonly #stdout: NodeJS.WritableStream;
  readonly #stderr: NodeJS.WritableStream;
  readonly #debug: boolean;
  #written = Promise.resolve();
  #lost: Error | undefined;

  constructor(stdout: NodeJS.WritableStream, stderr: NodeJS.WritableStream, options: { readonly debug: boolean }) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#debug = options.debug;
    // Without a listener a failed write ends the process. What stdout did not take, `flush` tells; for stderr nobody
    // is left to be told.
    for (const stream of [stdout, stderr]) stream.on('error', () => undefined);
  }

  /** A result. */
  print(text: string): void {
    this.#written = new Promise((resolve) => {
      this.#stdout.write(text, (error) => {
        this.#lost ??= error ?? undefined;
        resolve();
      });
    });
  }

  /**
   * Waits for the results to be written. A reader that went away (`zerohop … | head`) is no failure.
   * @throws CliError ERR_OUTPUT when stdout did not take them
   */
  async flush(): Promise<void> {
    await this.#written;
    if (this.#lost === undefined || codeOf(this.#lost) === 'EPIPE') return;
    const cause = this.#lost;
    throw new CliError('ERR_OUTPUT', `The results can't be written to stdout: ${cause.message}.`, { cause });
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

  /** A warning of Node.js or of a package. */
  notice(warning: Error): void {
    this.#report(`warning: ${sentenceOf(warning)}`, warning);
  }

  #report(sentence: string, error: unknown): void {
    this.#stderr.write(`zerohop: ${sentence}\n`);
    if (this.#debug) this.#stderr.write(`${debugTrace(error)}\n`);
  }
}
