// The packages that a set of packages needs at run time, laid out as one flat node_modules.
import { cpSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** @typedef {{ name: string, version: string, source: string, path: string }} Placed */

const readManifest = (directory) => JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));

/** Where Node would find `name` from `directory`, or undefined. Platform packages that were not installed are absent. */
function locate(name, directory) {
  for (let at = directory; ; at = dirname(at)) {
    const candidate = join(at, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate);
    if (at === dirname(at)) return undefined;
  }
}

/**
 * Walks dependencies, optional dependencies and the peers that are installed. A second version of a name goes below the
 * package that asked for it.
 *
 * @param {{ name: string, from: string }[]} roots package names and the folder each is resolved from
 * @param {(directory: string) => boolean} isOurs true for a workspace package: its dependencies are followed, its files
 *   are the caller's to copy
 * @param {ReadonlySet<string>} skipped names that are left out wherever they occur
 * @returns {Placed[]} `path` is relative to the node_modules folder
 */
export function closure(roots, isOurs, skipped) {
  /** @type {Map<string, Placed>} by path */
  const placed = new Map();
  const followed = new Set();
  const queue = roots.map((root) => ({ ...root, below: '', required: true }));
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (skipped.has(next.name)) continue;
    const source = locate(next.name, next.from);
    if (source === undefined) {
      if (next.required) throw new Error(`${next.name}, needed by ${next.from}, is not installed: run "npm run setup"`);
      continue;
    }
    const manifest = readManifest(source);
    let path = next.name;
    if (!isOurs(source)) {
      const top = placed.get(path);
      if (top !== undefined && top.source !== source) path = join(next.below, 'node_modules', next.name);
      placed.set(path, { name: next.name, version: manifest.version, source, path });
    }
    if (followed.has(`${path} ${source}`)) continue;
    followed.add(`${path} ${source}`);
    const required = Object.keys(manifest.dependencies ?? {});
    const optional = [
      ...Object.keys(manifest.optionalDependencies ?? {}),
      ...Object.keys(manifest.peerDependencies ?? {}),
    ];
    for (const name of required) queue.push({ name, from: source, below: path, required: !optional.includes(name) });
    for (const name of optional) queue.push({ name, from: source, below: path, required: false });
  }
  return [...placed.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Copies what Node may load: no sources maps, no type declarations, no nested node_modules of the package manager. */
export function copyPackage(placed, nodeModules) {
  cpSync(placed.source, join(nodeModules, placed.path), {
    recursive: true,
    dereference: true,
    filter: (file) => {
      const inside = file.slice(placed.source.length);
      return !/\/node_modules(\/|$)/.test(inside) && !/\.(map|d\.ts|d\.mts|d\.cts|md|markdown)$/i.test(inside);
    },
  });
}
