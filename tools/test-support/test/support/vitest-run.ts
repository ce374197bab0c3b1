/** Runs of vitest over files of a test's own, with the repository's reporter. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  failures: string[];
}

/** What the reporter writes. */
export interface Report {
  files: Record<string, Counts>;
  errors: { text: string; file?: string }[];
}

const reporter = join(repositoryRoot, 'scripts', 'vitest-report.mjs');
export const { countsOfReport, readReport } = (await import(reporter)) as {
  readReport(path: string): Report | undefined;
  countsOfReport(report: Report | undefined, succeeded: boolean): Counts;
};

/** A folder within the repository, so that what runs there finds vitest. */
export function folderOf(files: Record<string, string>): string {
  const folder = mkdtempSync(join(repositoryRoot, '.zerohop', 'vitest-report-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, 'vitest.config.js'), 'export default {};');
  return folder;
}

/** Runs the files whose paths contain one of the filters, or all. */
export function runIn(folder: string, filters: readonly string[] = []): { report: Report | undefined; ok: boolean } {
  const path = join(folder, 'report.json');
  rmSync(path, { force: true });
  const vitest = join(repositoryRoot, 'node_modules/vitest/vitest.mjs');
  const options = ['--root', folder, '--config', 'vitest.config.js', '--pool=forks', `--reporter=${reporter}`];
  const env = { ...process.env, VITEST: undefined, ZEROHOP_TEST_REPORT: path };
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...options, ...filters], { cwd: folder, env });
  return { report: readReport(path), ok: status === 0 };
}
