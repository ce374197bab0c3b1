import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The built package: child processes and workers can't load TypeScript. */
export const dist = new URL('../../dist/index.js', import.meta.url).href;

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/**
 * Starts `code`, an ES module which finds the package as `zerohop`.
 *
 * @param flags for Node
 * @param wrapper a command that runs the command which follows it
 */
export function start(
  code: string,
  env: Record<string, string> = {},
  flags: string[] = [],
  wrapper: string[] = [],
): ChildProcess {
  if (!existsSync(fileURLToPath(dist)))
    throw new Error('Build the package first: pnpm --filter @zerohop/cuda-native build');
  const module = `const zerohop = await import(${JSON.stringify(dist)});\n${code}`;
  const command = [...wrapper, process.execPath, ...flags, '--input-type=module', '-e', module];
  return spawn(command[0] ?? '', command.slice(1), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

export async function outcome(child: ChildProcess): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}

/** Runs `code` to its end. */
export function run(...args: Parameters<typeof start>): Promise<Outcome> {
  return outcome(start(...args));
}
