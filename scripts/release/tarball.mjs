import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { tools } from '../setup/paths.mjs';
import { failOn } from './problems.mjs';
import { run } from './run.mjs';

/**
 * A packed package: the archive, and its files by their path in it.
 *
 * @typedef {{ archive: string, packedBytes: number, files: Map<string, Buffer>, manifest: any }} Tarball
 */

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/**
 * Packs a package as it is published.
 *
 * @param {import('./workspace.mjs').Package} one
 * @param {string} target an existing folder
 * @returns {Promise<Tarball>}
 */
export async function pack({ name, folder }, target) {
  const own = join(target, name.replaceAll('/', '-'));
  mkdirSync(own);
  const packed = await run(join(tools, 'pnpm'), ['pack', '--json', '--pack-destination', own], { cwd: folder });
  failOn(packed.ok ? [] : [`pnpm pack ${packed.status}: ${packed.stdout}${packed.stderr}`]);
  const archive = join(own, readdirSync(own)[0]);
  const unpacked = await run('tar', ['-xzf', archive, '-C', own], { cwd: own });
  failOn(unpacked.ok ? [] : [`tar ${unpacked.status}: ${unpacked.stderr}`]);
  const content = join(own, 'package');
  const files = new Map(filesBelow(content).map((path) => [relative(content, path), readFileSync(path)]));
  const manifest = JSON.parse(files.get('package.json').toString());
  return { archive, packedBytes: statSync(archive).size, files, manifest };
}
