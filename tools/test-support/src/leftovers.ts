import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** What exists before a test, to compare with what exists after it. */
export interface Snapshot {
  sharedMemory: ReadonlySet<string>;
  processes: ReadonlySet<number>;
}

/** Names in /dev/shm and the living descendants of this process. */
export function takeSnapshot(): Snapshot {
  return { sharedMemory: new Set(readdirSync('/dev/shm')), processes: new Set(descendants(process.pid)) };
}

/**
 * Waits until nothing that began after `before` is left, and throws an error that names what is.
 *
 * @param options.belongs which new /dev/shm names count. Default: those that contain `zerohop`.
 * @param options.timeoutMs how long to wait for what is on its way out. Default 5,000.
 */
export async function expectNothingLeft(
  before: Snapshot,
  options: { belongs?: (name: string) => boolean; timeoutMs?: number } = {},
): Promise<void> {
  const belongs = options.belongs ?? ((name: string) => name.includes('zerohop'));
  const deadline = Date.now() + (options.timeoutMs ?? 5000);
  for (;;) {
    const now = takeSnapshot();
    const files = [...now.sharedMemory].filter((name) => !before.sharedMemory.has(name) && belongs(name));
    const processes = [...now.processes].filter((pid) => !before.processes.has(pid));
    if (files.length === 0 && processes.length === 0) return;
    if (Date.now() > deadline) {
      const running = processes.map((pid) => `process ${pid} (${commandOf(pid)})`);
      throw new Error(`Left behind: ${[...files.map((name) => `/dev/shm/${name}`), ...running].join(', ')}`);
    }
    await delay(50);
  }
}

/** Process ids of the children of `pid`, their children and so on; zombies are not counted. */
export function descendants(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state !== 'Z' && state !== 'X') parents.set(Number(entry), Number(parent));
    } catch {
      // It ended while we looked.
    }
  }
  const found: number[] = [];
  const add = (parent: number): void => {
    for (const [child, of] of parents) {
      if (of === parent) {
        found.push(child);
        add(child);
      }
    }
  };
  add(pid);
  return found;
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 120);
  } catch {
    return 'gone';
  }
}
