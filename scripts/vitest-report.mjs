// A reporter of vitest that writes what a run came to into the file named by ZEROHOP_TEST_REPORT, and its reader. Vitest's
// JSON reporter leaves out what failed outside of a test, such as a process of tests that crashed.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

/** Enough of a message to tell what went wrong; the whole stands further up in the log. */
const LINES_OF_MESSAGE = 6;

/** How the text of a file ends whose process crashed, or that was not begun. */
export const DID_NOT_END = 'did not end';

/**
 * @typedef {{ passed: number, failed: number, skipped: number, failures: string[] }} Counts `failures` has a text for each
 *   failed test, for each file that failed or did not end outside of its tests, and for each error of no test: its name,
 *   and how its message begins
 * @typedef {{ files: Record<string, Counts>, errors: { text: string, file?: string }[] }} Report the files by their paths;
 *   the errors of no test, with the file where that is known
 */

/** The reporter, for `--reporter`. */
export default class CountsReporter {
  #root = '';

  /** @param {import('vitest/node').Vitest} vitest */
  onInit(vitest) {
    this.#root = vitest.config.root;
  }

  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly import('vitest/node').SerializedError[]} errors
   */
  onTestRunEnd(modules, errors) {
    const report = {
      files: Object.fromEntries(modules.map((module) => [module.relativeModuleId, countsOf(module)])),
      errors: errors.map((error) => ({
        text: `outside of a test\n${beginning([error])}`,
        ...(error.VITEST_TEST_PATH && { file: relative(this.#root, error.VITEST_TEST_PATH) }),
      })),
    };
    writeFileSync(process.env.ZEROHOP_TEST_REPORT, JSON.stringify(report));
  }
}

function countsOf(module) {
  const counts = { passed: 0, failed: 0, skipped: 0, failures: failuresOf(module) };
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    // One that was in progress when its process ended has not passed.
    counts[state === 'pending' ? 'failed' : state] += 1;
  }
  return counts;
}

function failuresOf(module) {
  const name = module.relativeModuleId;
  const tests = [...module.children.allTests('failed')];
  const texts = tests.map((test) => `${name} > ${test.fullName}\n${beginning(test.result().errors)}`);
  const outside = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
  if (outside.length > 0) texts.push(`${name}\n${beginning(outside)}`);
  if (module.state() === 'pending' || module.state() === 'queued') texts.push(`${name}\n    ${DID_NOT_END}`);
  return texts;
}

function beginning(errors) {
  return errors
    .flatMap((error) => [`${error.name}: ${error.message}`, ...(error.cause ? [`${error.cause.message}`] : [])])
    .join('\n')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, LINES_OF_MESSAGE)
    .map((line) => `    ${line}`)
    .join('\n');
}

/**
 * What a run of vitest left.
 *
 * @param {string} path what the reporter wrote
 * @returns {Report | undefined} undefined when it did not come to that
 */
export function readReport(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/**
 * The counts of a run of vitest.
 *
 * @param {Report | undefined} report
 * @param {boolean} succeeded whether vitest ended well
 * @returns {Counts}
 */
export function countsOfReport(report, succeeded) {
  const counts = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const file of Object.values(report?.files ?? {})) {
    for (const key of ['passed', 'failed', 'skipped']) counts[key] += file[key];
    counts.failures.push(...file.failures);
  }
  counts.failures.push(...(report?.errors ?? []).map(({ text }) => text));
  // What fails outside of a test counts as well.
  if (!succeeded) counts.failed = Math.max(counts.failures.length, counts.failed, 1);
  return counts;
}
