// A reporter of vitest that writes what a run came to into the file named by ZEROHOP_TEST_REPORT, and its reader. Vitest's
// JSON reporter leaves out what failed outside of a test, such as a process of tests that crashed.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Enough of a message to tell what went wrong; the whole stands further up in the log. */
const LINES_OF_MESSAGE = 6;

/**
 * @typedef {{ passed: number, failed: number, skipped: number, failures: string[] }} Counts `failures` has a text for each
 *   failed test, for each file that failed or did not end outside of its tests, and for each error of no test: its name,
 *   and how its message begins
 */

/** The reporter, for `--reporter`. */
export default class CountsReporter {
  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly import('vitest/node').SerializedError[]} errors
   */
  onTestRunEnd(modules, errors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const test of tests) {
      const { state } = test.result();
      // One that was in progress when its process ended has not passed.
      counts[state === 'pending' ? 'failed' : state] += 1;
    }
    const failures = [
      ...modules.flatMap(failuresOf),
      ...errors.map((error) => `outside of a test\n${beginning([error])}`),
    ];
    writeFileSync(process.env.ZEROHOP_TEST_REPORT, JSON.stringify({ ...counts, failures }));
  }
}

function failuresOf(module) {
  const name = module.relativeModuleId;
  const tests = [...module.children.allTests('failed')];
  const texts = tests.map((test) => `${name} > ${test.fullName}\n${beginning(test.result().errors)}`);
  const outside = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
  if (outside.length > 0) texts.push(`${name}\n${beginning(outside)}`);
  if (module.state() === 'pending' || module.state() === 'queued') texts.push(`${name}\n    did not end`);
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
 * The counts of a run of vitest.
 *
 * @param {string} path what the reporter wrote; may be missing
 * @param {boolean} succeeded whether vitest ended well
 * @returns {Counts}
 */
export function countsOfVitest(path, succeeded) {
  if (!existsSync(path)) return { passed: 0, failed: succeeded ? 0 : 1, skipped: 0, failures: [] };
  const counts = JSON.parse(readFileSync(path, 'utf8'));
  // What fails outside of a test counts as well.
  return { ...counts, failed: succeeded ? counts.failed : Math.max(counts.failures.length, counts.failed, 1) };
}
