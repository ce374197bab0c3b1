import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * Names, kinds, modes, contents and link targets of everything below a folder, in one number: equal for two folders only
 * when an archive of them would be.
 *
 * @param {string} folder
 * @returns {string} SHA-256 in hexadecimal
 */
export function digest(folder) {
  const hash = createHash('sha256');
  const visit = (directory) => {
    for (const name of readdirSync(directory).sort()) {
      const path = join(directory, name);
      const info = lstatSync(path);
      let content = Buffer.alloc(0);
      if (info.isFile()) content = readFileSync(path);
      else if (info.isSymbolicLink()) content = Buffer.from(readlinkSync(path));
      // The mode has the kind in it; the length says where the content ends.
      hash.update(`${relative(folder, path)}\0${info.mode}\0${content.length}\0`).update(content);
      if (info.isDirectory()) visit(path);
    }
  };
  visit(folder);
  return hash.digest('hex');
}
