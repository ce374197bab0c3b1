import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * The Python backend starts its stub through a shell, with paths in it that it does not quote, and hands them to Python
 * as ASCII: a quote, a space or a letter beyond ASCII keeps the server waiting for a stub that never comes.
 */
function isPlain(path: string): boolean {
  return /^[\w./-]+$/.test(path);
}

/** A new folder of a name that the Python backend can stand, in the folder for temporary files if that one's is so too. */
export function makeRunDirectory(): string {
  const parent = resolve(tmpdir());
  return mkdtempSync(join(isPlain(parent) ? parent : '/tmp', 'zerohop-triton-'));
}

/** The absolute path, or where the Python backend can't stand it a new link to it, called `name`, in `directory`. */
export function plainPath(path: string, directory: string, name: string): string {
  const absolute = resolve(path);
  if (isPlain(absolute)) return absolute;
  const link = join(directory, name);
  symlinkSync(absolute, link);
  return link;
}
