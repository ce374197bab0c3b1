/** The end of a process whose server ends with it. */
import { readdirSync, unlinkSync } from 'node:fs';
import { codeOf } from './errors.js';
import { SHM_FOLDER, stemOf, thisMaker } from './names.js';

/**
 * Removes every entry that this process has in /dev/shm, those of all its pools, regions and worker threads, however they
 * are used: for the end of a process whose servers are gone, or end with it. With a server that goes on, leave them to
 * `close()` and, after an end without it, to the next `reap()`: without its entry a region that the server still lists is
 * not found again. Memory that is mapped stays valid. Does not wait, so that it may be called on `'exit'`.
 * @throws PoolError ERR_NATIVE_UNAVAILABLE elsewhere than on Linux
 */
export function removeEntries(): void {
  const stem = stemOf(thisMaker());
  for (const name of readdirSync(SHM_FOLDER)) {
    if (!name.startsWith(`${stem}.`)) continue;
    try {
      unlinkSync(`${SHM_FOLDER}/${name}`);
    } catch (error) {
      // Its pool was quicker.
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}
