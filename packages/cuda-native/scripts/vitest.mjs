import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTwice } from '../../../scripts/run-again.mjs';
import { readReport } from '../../../scripts/vitest-report.mjs';

const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** Tests of the build: they prove nothing about the Node or the addon that runs them. */
const OF_THE_BUILD = ['**/unit/folder.test.ts', '**/unit/binary.test.ts', '**/unit/sanitizer-reports.test.ts'];

/** The test process in progress. */
let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    child?.kill(signal);
    process.exitCode = 1;
  });
}

/** Resolves with the exit code of a program, null when a signal ended it. */
export function run(program, args, options) {
  child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
  return new Promise((resolve) => {
    child.once('error', (error) => console.error(error.message));
    child.once('close', (code) => resolve(code));
  });
}

/**
 * Runs the tests of this package that do not need a GPU.
 *
 * @param {{ node?: string, root?: string, env?: object, exclude?: string[], filters?: string[] }} options `node` is the
 *   program that runs them; `root` has the package in `packages/cuda-native`
 * @returns {ReturnType<typeof runTwice>}
 */
export async function runTests({ node = process.execPath, root = repository, env = {}, exclude = [], filters = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-tests-'));
  const file = join(folder, 'report.json');
  const args = [join(repository, 'node_modules/vitest/vitest.mjs'), 'run', '--root', root];
  args.push('--config', join(repository, 'vitest.config.ts'), '--project', 'unit', '--project', 'driver');
  for (const pattern of [...OF_THE_BUILD, ...exclude]) args.push('--exclude', pattern);
  args.push('--reporter=default', `--reporter=${join(repository, 'scripts', 'vitest-report.mjs')}`);
  const options = { cwd: root, env: { ...process.env, ...env, ZEROHOP_TEST_REPORT: file } };
  const runFiles = async (names) => {
    rmSync(file, { force: true });
    const code = await run(node, [...args, ...names], options);
    return { report: readReport(file), ok: code === 0 };
  };
  try {
    return await runTwice(runFiles, filters.length > 0 ? filters : ['packages/cuda-native']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {{ passed: number, failed: number, skipped: number, failures?: string[], passedAgain?: string[] }[]} all */
export const sum = (all) =>
  all.reduce((a, b) => ({
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failures: [...(a.failures ?? []), ...(b.failures ?? [])],
    passedAgain: [...(a.passedAgain ?? []), ...(b.passedAgain ?? [])],
  }));
