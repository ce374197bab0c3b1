import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A copy of the built package in a folder of its own, as a second installation would be; removed after the test. */
export interface PackageCopy {
  readonly folder: string;
  /** The URL of its entry. */
  readonly entry: string;
  /** Changes a text that the files of a folder, or one file, hold exactly once. */
  replace(path: string, before: string, after: string): void;
}

export function copyPackage(): PackageCopy {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-copy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const part of ['dist', 'package.json', join('native', 'prebuilds')]) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    entry: pathToFileURL(join(folder, 'dist', 'index.js')).href,
    replace(path, before, after) {
      const at = join(folder, path);
      const files = statSync(at).isFile()
        ? [at]
        : readdirSync(at)
            .filter((name) => !name.endsWith('.map'))
            .map((name) => join(at, name));
      const found = files.filter((file) => readFileSync(file, 'latin1').includes(before));
      const text = found[0] === undefined ? '' : readFileSync(found[0], 'latin1');
      if (found[0] === undefined || found.length > 1 || text.split(before).length !== 2) {
        throw new Error(`${path} does not have ${JSON.stringify(before)} exactly once`);
      }
      writeFileSync(found[0], text.replace(before, after), 'latin1');
    },
  };
}
