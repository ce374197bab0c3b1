import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Runs a program to its end and returns what it wrote to stdout. On failure the error's message is the last line the
 * program wrote to stderr, so that it can stand in a table of what did not run.
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: { timeoutMs: number; env?: Readonly<Record<string, string>> },
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      timeout: options.timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 2 ** 26,
      env: { ...process.env, ...options.env },
    });
    return stdout;
  } catch (cause) {
    const {
      stderr = '',
      stdout = '',
      killed = false,
    } = cause as { stderr?: string; stdout?: string; killed?: boolean };
    const said = (stderr.trim() || stdout.trim()).split('\n').at(-1) ?? '';
    const what = killed ? `not finished after ${options.timeoutMs} ms` : said;
    throw new Error(what === '' ? String(cause) : what, { cause });
  }
}
