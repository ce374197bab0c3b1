import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/paths.mjs';
import { besides, examplesOf, runExample, writeExamples } from './examples.mjs';
import { entriesOf, importEntries } from './imports.mjs';
import { describe, installedIn, installProblems } from './installed.mjs';
import { checkLicences } from './licences.mjs';
import { isImportable } from './linters.mjs';
import { failOn } from './problems.mjs';
import { Project } from './project.mjs';
import { specifier } from './registry.mjs';
import { compile, moduleOf } from './types.mjs';

/**
 * @typedef {import('./workspace.mjs').Package & import('./tarball.mjs').Tarball & { directory: string }} Packed
 * @typedef {{ one: Packed, project: Project, check: (what: string, ...rest: unknown[]) => Promise<unknown>, context: Context }} User
 * @typedef {{
 *   report: import('./report.mjs').Report,
 *   packages: Packed[],
 *   registry: { url: string, npmrc: string },
 *   caches: string,
 *   folder: string,
 *   env: NodeJS.ProcessEnv | undefined,
 * }} Context `env` leads the examples to a server, and is undefined when there is none
 */

/**
 * Installs one package alone and uses it: imports, types, the examples of its README.
 *
 * @param {Packed} one
 * @param {'npm' | 'pnpm'} manager
 * @param {Context} context
 */
export async function checkAlone(one, manager, context) {
  const { report, registry, caches, folder } = context;
  const project = new Project(manager, join(folder, manager, one.name.replaceAll('/', '-')), { registry, caches });
  const check = (what, ...rest) => report.check(one.name, `${manager} ${what}`, ...rest);
  const installed = await check(
    'install alone',
    async () => {
      await project.add([await specifier(one, registry)]);
      return installedIn(project.folder);
    },
    (all) => `scripts off, ${all.length} packages`,
  );
  if (installed === undefined) return;
  await check('came along', () => {
    failOn(installProblems(one.name, one.budget, installed));
    return describe(one.name, installed);
  });
  await check('import', () => importEntries(project, one.manifest));
  const user = { one, project, check, context };
  // pnpm's layout lends a package nothing that it forgot to ask for, so what compiles there compiles in npm's.
  if (manager === 'pnpm') {
    await check('licences', () => checkLicences(project));
    await checkTypes(user);
  }
  await checkExamples(user);
}

/** The types of node that a user of TypeScript installs: the version that the workspace has. */
function nodeTypes() {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return `@types/node@${devDependencies['@types/node']}`;
}

/** @param {User} user */
async function checkTypes({ one, project, check }) {
  await check('types', async () => {
    await project.add([nodeTypes()], ['--save-dev']);
    if (!isImportable(one.manifest)) return 'a command, has none';
    project.write('entries.ts', moduleOf(entriesOf(one.manifest).code));
    return compile(project, ['entries.ts'], ['nodenext', 'bundler']);
  });
}

/** @param {User} user */
async function checkExamples({ one, project, check, context: { report, packages, registry, env } }) {
  const examples = examplesOf(one.files.get('README.md').toString());
  const { ours, others } = besides(one.name, examples, packages);
  const added = await check(
    'examples need',
    async () => {
      const specifiers = [...(await Promise.all(ours.map((other) => specifier(other, registry)))), ...others];
      if (specifiers.length > 0) await project.add(specifiers);
      writeExamples(project, examples, one.manifest, one.directory);
      return [...ours.map(({ name }) => name), ...others];
    },
    (beside) => (beside.length === 0 ? 'nothing beside the package' : beside.join(', ')),
  );
  if (added === undefined) return;
  const typed = examples.filter(({ language }) => language === 'ts').map(({ file }) => file);
  if (project.manager === 'pnpm' && typed.length > 0) {
    await check('examples compile', () => compile(project, typed, ['nodenext']));
  }
  for (const example of examples) {
    const what = `example README.md:${example.line}`;
    if (example.needsServer && env === undefined) {
      report.skip(one.name, `${project.manager} ${what}`, 'it needs a Triton: npm run setup');
      continue;
    }
    const said = `ends well${example.needsServer ? ', with a Triton' : ''}`;
    await check(
      what,
      () => runExample(project, example, env ?? {}),
      () => said,
    );
  }
}
