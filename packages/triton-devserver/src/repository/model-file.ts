import { readFileSync } from 'node:fs';
import { internal } from '../status.js';
import { isFile } from './files.js';

/**
 * The bytes of a file beside a model's configuration, such as of labels. Blocks.
 *
 * @throws ServerError for a file that can't be read, in the words of ReadTextFile of Triton's core
 */
export function readModelFile(path: string): Buffer {
  try {
    if (isFile(path)) return readFileSync(path);
  } catch {
    // The same text as for one that is not there.
  }
  throw internal(`failed to open text file for read ${path}: No such file or directory`);
}
