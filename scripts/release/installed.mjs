import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {{ name: string, version: string, bytes: number }} Installed */

function bytesOf(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? sum : sum + bytesOf(path);
    return entry.isFile() ? sum + lstatSync(path).size : sum;
  }, 0);
}

function packageAt(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return [{ name, version, bytes: bytesOf(folder) }, ...installedIn(folder)];
}

/**
 * Every package below a folder's node_modules, as npm or pnpm laid it out. Links are not followed: pnpm's lead to what lies
 * in its `.pnpm`.
 *
 * @param {string} folder
 * @returns {Installed[]}
 */
export function installedIn(folder) {
  const modules = join(folder, 'node_modules');
  if (!existsSync(modules)) return [];
  return readdirSync(modules, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const path = join(modules, name);
      if (name === '.pnpm') return readdirSync(path).flatMap((inner) => installedIn(join(path, inner)));
      if (name.startsWith('.')) return [];
      if (!name.startsWith('@')) return packageAt(path);
      return readdirSync(path, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .flatMap((inner) => packageAt(join(path, inner.name)));
    });
}

const matches = (pattern, name) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern);
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;

/**
 * What is wrong with what an install brought.
 *
 * @param {string} name of the package that was asked for
 * @param {Pick<import('./workspace.mjs').Budget, 'installs' | 'installedBytes'>} budget
 * @param {Installed[]} installed
 * @returns {string[]}
 */
export function installProblems(name, budget, installed) {
  const names = new Set(installed.map((one) => one.name));
  const bytes = installed.reduce((sum, one) => sum + one.bytes, 0);
  const place = 'scripts/release/budgets.json';
  return [
    ...(names.has(name) ? [] : [`${name} itself was not installed.`]),
    ...[...names]
      .filter((other) => other !== name && !budget.installs.some((pattern) => matches(pattern, other)))
      .map(
        (other) =>
          `${other} came along, which nobody asked for: see who depends on it, then add it to "installs" in ${place}.`,
      ),
    ...budget.installs
      .filter((pattern) => ![...names].some((other) => matches(pattern, other)))
      .map((pattern) => `${pattern} did not come along: if that is right, remove it from "installs" in ${place}.`),
    ...(bytes <= budget.installedBytes
      ? []
      : [
          `${megabytes(bytes)} were installed, ${megabytes(budget.installedBytes)} are allowed: see what became larger, or raise ` +
            `installedBytes in ${place}.`,
        ]),
  ];
}

/** One line that lists what came along. */
export function describe(name, installed) {
  const others = installed.filter((one) => one.name !== name).map((one) => `${one.name}@${one.version}`);
  const bytes = installed.reduce((sum, one) => sum + one.bytes, 0);
  return `${megabytes(bytes)}; with ${others.length === 0 ? 'nothing else' : [...new Set(others)].sort().join(', ')}`;
}
