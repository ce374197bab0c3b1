// What is published, looked at as a user gets it: builds and packs every package of the workspace that is not private, publishes
// the tarballs to a registry on this machine, installs each one alone from there, and uses it.
//
//   node scripts/release/check.mjs [PACKAGE…] [--json=FILE]
//
// With names, only these are installed and used. --json=FILE writes the counts for scripts/test.mjs.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { exampleServer } from '../readme/server.mjs';
import { root, server } from '../setup/paths.mjs';
import { checkAlone } from './alone.mjs';
import { buildAll } from './build.mjs';
import { hasServer } from './examples.mjs';
import { attw, publint } from './linters.mjs';
import { CheckFailed, failOn } from './problems.mjs';
import { lentBy } from './project.mjs';
import { publish, startRegistry } from './registry.mjs';
import { Report } from './report.mjs';
import { endAll, inParallel } from './run.mjs';
import { pack } from './tarball.mjs';
import { kilobytes, tarballProblems } from './tarball-check.mjs';
import { findPackages } from './workspace.mjs';

const report = new Report();
// Outside of the clone, whose node_modules would lend what a package forgot to ask for.
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zerohop-release-')));
let registry;
let triton;

async function cleanUp() {
  await registry?.close();
  await triton?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, async () => {
    endAll();
    await cleanUp();
    process.exit(128 + constants.signals[signal]);
  });
}

/** Packs a package and looks at what is in the tarball. */
async function packed(one) {
  const target = join(folder, 'tarballs');
  mkdirSync(target, { recursive: true });
  const tarball = await report.check(
    one.name,
    'pack',
    () => pack(one, target),
    ({ files }) => `${files.size} files`,
  );
  if (tarball === undefined) return undefined;
  const licence = readFileSync(join(root, 'LICENSE'));
  const directory = relative(root, one.folder);
  await report.check(one.name, 'tarball', () => {
    failOn(tarballProblems({ ...one, directory }, tarball, { licence, root }));
    return `holds what it must and nothing else; ${kilobytes(tarball.packedBytes)} of ${kilobytes(one.budget.packedBytes)}`;
  });
  await report.check(one.name, 'publint', () => publint(tarball, folder));
  await report.check(one.name, 'attw', () => attw(tarball, folder));
  return { ...one, ...tarball, directory };
}

async function main() {
  const lent = lentBy(folder);
  failOn(
    lent === undefined
      ? []
      : [`${lent} would lend packages to the projects in ${folder}: set TMPDIR to another folder.`],
  );
  const { packages, problems } = await findPackages();
  await report.check('workspace', 'packages', () => {
    failOn(problems);
    return packages.map(({ name }) => name).join(', ');
  });
  await report.check('workspace', 'build', buildAll);
  const known = packages.filter(({ budget }) => budget !== undefined);
  const tarballs = (await inParallel(known, packed)).filter((one) => one !== undefined);
  registry = await startRegistry(join(folder, 'registry'));
  await inParallel(tarballs, (one) =>
    report.check(
      one.name,
      'publish',
      () => publish(one, registry, join(folder, 'publisher')),
      () => 'to an empty registry here',
    ),
  );
  // The examples of all packages share one server.
  const withServer = hasServer(server);
  if (withServer) triton = await exampleServer();
  const context = {
    report,
    packages: tarballs,
    registry,
    caches: join(folder, 'caches'),
    folder: join(folder, 'projects'),
    env: triton?.env,
  };
  const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
  const unknown = named.filter((name) => !packages.some((one) => one.name === name));
  failOn(unknown.map((name) => `${name} is no published package of the workspace.`));
  const tried = tarballs.filter(({ name }) => named.length === 0 || named.includes(name));
  const tasks = tried.flatMap((one) => ['npm', 'pnpm'].map((manager) => ({ one, manager })));
  await inParallel(tasks, ({ one, manager }) => checkAlone(one, manager, context));
}

const json = process.argv.find((argument) => argument.startsWith('--json='))?.slice('--json='.length);
try {
  await main();
} catch (error) {
  report.failed++;
  console.error(error instanceof CheckFailed ? error.message : error);
} finally {
  await cleanUp();
}
report.end(json);
