import { readFileSync, writeFileSync } from 'node:fs';
import { setImmediate as afterTasks } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes that JavaScript holds in this process after full collections, buffers included. */
export async function heldBytes(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    collect();
    await afterTasks();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function statusBytes(field: string): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'));
  return Number(line?.[1]) * 1024;
}

/** Resident bytes of this process that are neither a file's nor shared memory's. */
export const anonymousBytes = (): number => statusBytes('RssAnon');

/** By how much the process's resident memory rose above where it began, at its highest, while `work` went on. */
export async function peakGrowth(work: () => Promise<unknown>): Promise<number> {
  // Makes the highest so far the present one (proc_pid_clear_refs(5)).
  writeFileSync('/proc/self/clear_refs', '5');
  const before = statusBytes('VmHWM');
  await work();
  return statusBytes('VmHWM') - before;
}
