import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, tools } from '../setup/paths.mjs';
import { failOn } from './problems.mjs';
import { run } from './run.mjs';

/**
 * A package of the workspace that is published.
 *
 * @typedef {{ name: string, version: string, folder: string, budget: Budget | undefined }} Package
 * @typedef {{ packedBytes: number, installedBytes: number, files: string[], installs: string[] }} Budget
 */

const budgetsFile = 'scripts/release/budgets.json';

/** Those that are not private, found by pnpm. */
async function publishable() {
  const { ok, status, stdout, stderr } = await run(join(tools, 'pnpm'), ['ls', '-r', '--depth', '-1', '--json'], {
    cwd: root,
  });
  failOn(ok ? [] : [`pnpm ls ${status}: ${stderr}`]);
  return JSON.parse(stdout).filter((one) => one.private !== true);
}

/**
 * Every package has a budget, and every budget a package.
 *
 * @param {string[]} names of the packages
 * @param {Record<string, Budget>} budgets
 * @returns {string[]} problems
 */
export function unmatched(names, budgets) {
  return [
    ...names
      .filter((name) => !Object.hasOwn(budgets, name))
      .map((name) => `${name} has no budget: add it to ${budgetsFile}, or make the package private.`),
    ...Object.keys(budgets)
      .filter((name) => !names.includes(name))
      .map((name) => `${budgetsFile} names ${name}, which is no published package of the workspace: remove it there.`),
  ];
}

/**
 * What may come along with a package: what its budget names, and what may come along with those of ours among them.
 *
 * @param {string} name
 * @param {Record<string, Pick<Budget, 'installs'>>} budgets
 * @returns {string[]}
 */
export function allInstalls(name, budgets) {
  const all = new Set();
  const add = (one) => {
    for (const other of budgets[one]?.installs ?? []) {
      if (all.has(other)) continue;
      all.add(other);
      add(other);
    }
  };
  add(name);
  return [...all];
}

/** @returns {Promise<{ packages: Package[], problems: string[] }>} */
export async function findPackages() {
  const budgets = JSON.parse(readFileSync(join(root, budgetsFile), 'utf8'));
  const found = await publishable();
  const packages = found.map(({ name, version, path }) => ({
    name,
    version,
    folder: path,
    budget: budgets[name] && { ...budgets[name], installs: allInstalls(name, budgets) },
  }));
  return {
    packages,
    problems: [
      ...(packages.length === 0 ? ['The workspace has no package that is published: was it set up?'] : []),
      ...unmatched(
        packages.map(({ name }) => name),
        budgets,
      ),
    ],
  };
}
