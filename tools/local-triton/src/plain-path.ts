import { symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * The Python backend starts its stub through a shell, with paths in it that it does not quote, and hands them to Python
 * as ASCII: a quote, a space or a letter beyond ASCII keeps the server waiting for a stub that never comes.
 */
function isPlain(path: string): boolean {
  return /^[\w./-]+$/.test(path);
}

/** The folder for temporary files, or /tmp where that has a name that the Python backend can't stand. */
export function plainTemporaryDirectory(): string {
  const path = resolve(tmpdir());
  return isPlain(path) ? path : '/tmp';
}

/** The absolute path, or where the Python backend can't stand it a new link to it, called `name`, in `directory`. */
export function plainPath(path: string, directory: string, name: string): string {
  const absolute = resolve(path);
  if (isPlain(absolute)) return absolute;
  const link = join(directory, name);
  symlinkSync(absolute, link);
  return link;
}
