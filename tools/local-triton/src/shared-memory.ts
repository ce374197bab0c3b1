import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statfsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { LocalTritonError } from './errors.js';

const SHM_DIRECTORY = '/dev/shm';
const MIB = 2 ** 20;
/** In place of the pid namespace where /proc does not tell it. */
const UNKNOWN = '0';

/**
 * Checks that /dev/shm can hold `byteLength` more bytes. Does not reserve them.
 *
 * @throws LocalTritonError ERR_SHM_FULL, with the numbers and the command that helps
 */
export function checkSharedMemory(byteLength: number): void {
  let free: number;
  let size: number;
  try {
    const stats = statfsSync(SHM_DIRECTORY);
    free = stats.bavail * stats.bsize;
    size = stats.blocks * stats.bsize;
  } catch (cause) {
    throw new LocalTritonError('ERR_SHM_FULL', `${SHM_DIRECTORY} is not there: mount a tmpfs on it.`, { cause });
  }
  if (free >= byteLength) return;
  const wanted = Math.ceil((size - free + byteLength) / MIB);
  throw new LocalTritonError(
    'ERR_SHM_FULL',
    `${SHM_DIRECTORY} has ${Math.floor(free / MIB)} MiB free of ${Math.floor(size / MIB)} MiB, ` +
      `${Math.ceil(byteLength / MIB)} MiB are needed: ${sharedMemoryRemedy(wanted)}`,
  );
}

/** What to do about a /dev/shm that is too small, for a wanted size in MiB. */
export function sharedMemoryRemedy(mebibytes: number): string {
  return `remove files you no longer need, enlarge it (mount -o remount,size=${mebibytes}m ${SHM_DIRECTORY}), or start the container with --shm-size=${mebibytes}m.`;
}

/** Removes the /dev/shm files whose names begin with `prefix`; returns their names. The prefix must be unique to one server. */
export function removeSharedMemory(prefix: string): string[] {
  const removed = readdirSync(SHM_DIRECTORY).filter((name) => name.startsWith(prefix));
  for (const name of removed) {
    try {
      unlinkSync(join(SHM_DIRECTORY, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return removed;
}

/**
 * A prefix for the /dev/shm files of one server, and for its folder. It names this process for good, by id, start and pid namespace, so that
 * a later one can tell that nobody is left who would remove them.
 */
export function newSharedMemoryPrefix(): string {
  const owner = [process.pid, startOf(process.pid) ?? UNKNOWN, pidNamespace()].join('-');
  return `zerohop-triton-${owner}-${randomBytes(6).toString('hex')}-`;
}

/**
 * Removes what begins with such a prefix in /dev/shm and in `temporary` and is of servers whose starter has ended. Usually
 * their supervisor or the stubs have done so, unless all were killed at once. What is another user's or of another pid
 * namespace stays.
 */
export function removeStale(temporary: string): void {
  const namespace = pidNamespace();
  if (namespace === UNKNOWN) return;
  for (const directory of [SHM_DIRECTORY, temporary].filter((path) => existsSync(path))) {
    for (const name of readdirSync(directory)) {
      const [, pid, start, where] = /^zerohop-triton-(\d+)-(\d+)-(\d+)-[0-9a-f]{12}-/.exec(name) ?? [];
      if (pid === undefined || where !== namespace || startOf(pid) === start) continue;
      try {
        rmSync(join(directory, name), { recursive: true, force: true });
      } catch {
        // Another user's.
      }
    }
  }
}

/** Start of a process in clock ticks since boot; undefined when there is none of this id. */
function startOf(pid: number | string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}
