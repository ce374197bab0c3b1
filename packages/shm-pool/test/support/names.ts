import { readdirSync, rmSync } from 'node:fs';
import { EntryNames } from '../../src/names.js';

const stem = new EntryNames().next().split('.').slice(0, 5).join('.');

/** Whether a region or an entry in /dev/shm was made by this process. */
export const ours = (name: string): boolean => name.startsWith(`${stem}.`);

/** Removes this process's entries: of retired regions, which stay until a process ends in an orderly way. */
export function removeOurEntries(): void {
  for (const name of readdirSync('/dev/shm').filter(ours)) rmSync(`/dev/shm/${name}`);
}
