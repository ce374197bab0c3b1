import { readdirSync, statfsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { LocalTritonError } from './errors.js';

const SHM_DIRECTORY = '/dev/shm';
const MIB = 2 ** 20;

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
