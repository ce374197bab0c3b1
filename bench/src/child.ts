import { type ChildProcess, execFile } from 'node:child_process';
import { constants } from 'node:os';

/** How long a program may take to tidy up after SIGINT before it is killed. */
const GRACE_MS = 5000;

const running = new Set<ChildProcess>();

// Programs that we started don't outlive us; SIGINT lets them unregister and unlink what is theirs.
process.on('exit', () => {
  for (const child of running) child.kill('SIGINT');
});

/** The next signal is not ours to answer. */
let left = false;

function onSignal(signal: NodeJS.Signals): void {
  if (left) left = false;
  else process.exit(128 + constants.signals[signal]);
}

/**
 * From now on SIGINT and SIGTERM end this process by way of its 'exit' event, at which names in /dev/shm and programs that
 * we started go, with the usual status. The handlers stay: a signal that arrives while the last handler of its kind is
 * removed is lost.
 */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    if (!process.listeners(signal).includes(onSignal)) process.on(signal, onSignal);
  }
}

/**
 * Leaves the next signal to `installShutdown`, which closes its pool and sends the signal again: that one, and any after
 * the function returned was called, end the process.
 */
export function leaveSignal(): () => void {
  left = true;
  return () => {
    left = false;
  };
}

/**
 * Runs a program to its end and returns what it wrote to stdout. On failure the error's message is the last line the
 * program wrote to stderr, so that it can stand in a table of what did not run.
 */
export function runProgram(
  command: string,
  args: readonly string[],
  options: { timeoutMs: number; env?: Readonly<Record<string, string>> },
): Promise<string> {
  return new Promise((resolve, reject) => {
    let late = false;
    let kill: NodeJS.Timeout | undefined;
    const env = { ...process.env, ...options.env };
    const child = execFile(command, args, { maxBuffer: 2 ** 26, env }, (error, stdout, stderr) => {
      clearTimeout(interrupt);
      clearTimeout(kill);
      running.delete(child);
      if (error === null) resolve(stdout);
      else
        reject(
          new Error(late ? `not finished after ${options.timeoutMs} ms` : lastLine(stderr, stdout, error), {
            cause: error,
          }),
        );
    });
    running.add(child);
    const interrupt = setTimeout(() => {
      late = true;
      child.kill('SIGINT');
      kill = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    }, options.timeoutMs);
  });
}

function lastLine(stderr: string, stdout: string, error: Error): string {
  return (stderr.trim() || stdout.trim()).split('\n').at(-1) || error.message;
}
