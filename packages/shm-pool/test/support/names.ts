import { EntryNames } from '../../src/names.js';

const stem = new EntryNames().next().split('.').slice(0, 5).join('.');

/** Whether a region or an entry in /dev/shm was made by this process. */
export const ours = (name: string): boolean => name.startsWith(`${stem}.`);
