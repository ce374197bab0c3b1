import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { environment } from '../setup/paths.mjs';

/** Ends a program with all that it has started, also when this process is killed. */
const guard = fileURLToPath(new URL('../setup/guard.mjs', import.meta.url));

/** What runs now: an interrupt ends it, and nothing goes on from there. */
const children = new Set();
let interrupted = false;

/**
 * Runs a program to its end.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, timeoutMs?: number }} options
 * @returns {Promise<{ ok: boolean, status: string, stdout: string, stderr: string }>}
 */
export function run(program, args, { cwd, env = {}, timeoutMs = 300_000 }) {
  return new Promise((resolve) => {
    if (interrupted) return;
    const child = spawn(process.execPath, [guard, program, ...args], {
      cwd,
      env: environment(env),
      stdio: 'pipe',
      // A Ctrl-C of the terminal reaches only us.
      detached: true,
    });
    child.stdin.on('error', () => undefined);
    children.add(child);
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (text) => (said[name] += text));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.stdin.destroy();
    }, timeoutMs);
    const end = (ok, status) => {
      clearTimeout(timer);
      children.delete(child);
      if (!interrupted) resolve({ ok, status, ...said });
    };
    child.once('error', (error) => end(false, error.message));
    child.once('close', (code, signal) =>
      end(code === 0, late ? `did not end within ${timeoutMs / 1000} s` : `ended with ${signal ?? code}`),
    );
  });
}

/** Ends what runs; no promise of `run` settles any more. */
export function endAll() {
  interrupted = true;
  for (const child of children) child.stdin.destroy();
}

/**
 * Calls `work` for every item, as many at once as there are cores.
 *
 * @template T, R
 * @param {T[]} items
 * @param {(item: T) => Promise<R>} work
 * @returns {Promise<R[]>} in the order of the items
 */
export async function inParallel(items, work) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return results;
}
