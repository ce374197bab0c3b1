import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { home, root } from './paths.mjs';

const SKIPPED = new Set(['node_modules', 'dist', 'build', 'prebuilds', 'test', '.turbo', 'results']);

/** Hash of the contents of files and of any further values. Missing files count as such. */
export function hashOf(files, ...values) {
  const hash = createHash('sha256');
  for (const file of files) {
    hash.update(`${relative(root, file)}\0`);
    if (existsSync(file)) hash.update(readFileSync(file));
  }
  hash.update(JSON.stringify(values));
  return hash.digest('hex');
}

/** Sources below folders, as name, size and time: enough to see that something changed. */
export function listSources(folders) {
  const found = [];
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (SKIPPED.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) {
        const { size, mtimeMs } = statSync(path);
        found.push(`${relative(root, path)} ${size} ${mtimeMs}`);
      }
    }
  };
  for (const folder of folders.filter((path) => existsSync(path))) walk(folder);
  return found.sort();
}

const stampPath = (name) => join(home, 'stamps', name);

/** Whether a step last ended well with the same inputs. */
export function isStamped(name, hash) {
  try {
    return readFileSync(stampPath(name), 'utf8') === hash;
  } catch {
    return false;
  }
}

export function stamp(name, hash) {
  mkdirSync(dirname(stampPath(name)), { recursive: true });
  writeFileSync(stampPath(name), hash);
}

export function unstamp(name) {
  rmSync(stampPath(name), { force: true });
}
