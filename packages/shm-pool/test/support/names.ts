import { removeEntries } from '../../src/index.js';
import { stemOf, thisMaker } from '../../src/names.js';

const stem = stemOf(thisMaker());

/** Whether a region or an entry in /dev/shm was made by this process. */
export const ours = (name: string): boolean => name.startsWith(`${stem}.`);

/** Removes this process's entries: of retired regions, which are left to the next start. */
export { removeEntries as removeOurEntries };
