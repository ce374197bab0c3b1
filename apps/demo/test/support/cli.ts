import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { expectNothingLeft, repositoryRoot, type Snapshot } from '@zerohop/test-support';

/** What is published: the tests of this app run the built command, as users do. */
export const command = join(repositoryRoot, 'apps', 'demo', 'dist', 'main.js');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when stderr has said something that matches; rejects when the process ends before. */
  said(pattern: RegExp): Promise<void>;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** What to run the command by, such as `['unshare', '-m', …]`. */
  readonly through?: readonly string[];
}

const pids = new Set<number>();

/**
 * Waits until nothing is left of the commands started here: no process, and no name in /dev/shm that carries the id of
 * one. Other programs of this repository may run beside these tests.
 */
export async function expectNothingLeftOfCli(before: Snapshot): Promise<void> {
  const belongs = (name: string): boolean => (name.match(/\d+/g) ?? []).some((digits) => pids.has(Number(digits)));
  await expectNothingLeft(before, { belongs: (name) => name.startsWith('zerohop') && belongs(name) });
}

/** Starts `zerohop` with these words. */
export function startCli(words: readonly string[], options: CliOptions = {}): Running {
  const [file, ...rest] = [...(options.through ?? []), process.execPath, command, ...words];
  const child = spawn(file as string, rest, {
    cwd: options.cwd,
    env: { ...process.env, NO_COLOR: '1', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) pids.add(child.pid);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  const said = (pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (pattern.test(stderr)) resolve();
      };
      child.stderr.on('data', look);
      child.once('close', () => reject(new Error(`Ended without ${pattern}: ${stderr}`)));
      look();
    });
  return { child, ended, said };
}

/** Runs `zerohop` to its end. */
export function runCli(words: readonly string[], options?: CliOptions): Promise<Ended> {
  return startCli(words, options).ended;
}
