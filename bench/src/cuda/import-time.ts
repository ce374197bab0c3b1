/** What `import '@zerohop/cuda-native'` costs a fresh process. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Spread, spread } from '../statistics.js';

export interface ImportTime {
  readonly processes: number;
  /** Milliseconds that the import statement took, inside. */
  readonly insideMs: Spread;
  /** Wall time of a process that imports and ends, less that of one that only ends, started in turn. */
  readonly processMoreMs: Spread;
  readonly bareMs: Spread;
  readonly limitMs: number;
  readonly met: boolean;
}

const LIMIT_MS = 15;
const run = promisify(execFile);

async function wallMs(code: string): Promise<{ ms: number; stdout: string }> {
  const began = performance.now();
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code]);
  return { ms: performance.now() - began, stdout };
}

/** Starts that many pairs of processes, after one pair that fills the file system's cache. */
export async function measureImport(processes: number): Promise<ImportTime> {
  const entry = JSON.stringify(import.meta.resolve('@zerohop/cuda-native'));
  const bare = 'process.stdout.write("0")';
  const importing = `const began = performance.now(); await import(${entry}); process.stdout.write(String(performance.now() - began))`;
  const inside: number[] = [];
  const more: number[] = [];
  const bareMs: number[] = [];
  for (let i = -1; i < processes; i += 1) {
    const without = await wallMs(bare);
    const withIt = await wallMs(importing);
    if (i < 0) continue;
    inside.push(Number(withIt.stdout));
    more.push(withIt.ms - without.ms);
    bareMs.push(without.ms);
  }
  const insideMs = spread(inside);
  const processMoreMs = spread(more);
  return {
    processes,
    insideMs,
    processMoreMs,
    bareMs: spread(bareMs),
    limitMs: LIMIT_MS,
    met: Math.max(insideMs.median, processMoreMs.median) < LIMIT_MS,
  };
}
