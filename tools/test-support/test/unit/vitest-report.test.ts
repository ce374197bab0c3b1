import { expect, test } from 'vitest';
import { type Counts, countsOfReport, folderOf, readReport, runIn } from '../support/vitest-run.js';

function countsOf(files: Record<string, string>): Counts {
  const { report, ok } = runIn(folderOf(files));
  return countsOfReport(report, ok);
}

test('the failed tests of a run of vitest are counted and told by name, with the beginning of what they say', () => {
  const code = [
    "import { describe, expect, test } from 'vitest';",
    "test('good', () => {});",
    "test.skip('left out', () => {});",
    "describe('these', () => { test('bad', () => { expect(1).toBe(2); }); });",
  ].join('\n');
  const { failures, ...counts } = countsOf({ 'some.test.js': code });
  expect(counts).toEqual({ passed: 1, failed: 1, skipped: 1 });
  expect(failures).toEqual([
    expect.stringMatching(/^some\.test\.js > these > bad\n {4}AssertionError: expected 1 to be 2/),
  ]);
});

test('a file that does not load counts as failed and is named', () => {
  const { failures, failed } = countsOf({ 'broken.test.js': "throw new Error('no such machine');" });
  expect(failed).toBe(1);
  expect(failures).toEqual([expect.stringMatching(/^broken\.test\.js\n {4}Error: no such machine/)]);
});

test('a process of tests that crashes counts as failed, and its file is named', () => {
  const code = [
    "import { test } from 'vitest';",
    "test('good', () => {});",
    "test('fatal', () => process.kill(process.pid, 'SIGKILL'));",
  ].join('\n');
  const { failures, failed } = countsOf({
    'good.test.js': "import { test } from 'vitest'; test('good', () => {});",
    'fatal.test.js': code,
  });
  expect(failed).toBeGreaterThan(0);
  expect(failures).toEqual([
    expect.stringMatching(/^fatal\.test\.js\n {4}did not end/),
    // What vitest finds first: that the process is gone, or that it can't be written to.
    expect.stringMatching(/^outside of a test\n.*\n {4}(Worker exited unexpectedly|write EPIPE)/),
  ]);
});

test('an error that no test throws counts as failed and is named', () => {
  const code = [
    "import { test } from 'vitest';",
    "test('good', async () => { void Promise.reject(new Error('nobody waits')); await new Promise(setImmediate); });",
  ].join('\n');
  const { failures, failed } = countsOf({ 'rejecting.test.js': code });
  expect(failed).toBe(1);
  expect(failures).toEqual([expect.stringMatching(/^outside of a test\n {4}Error: nobody waits/)]);
});

test('a run that left no report counts as failed', () => {
  expect(countsOfReport(readReport('/no/such/report'), false)).toEqual({
    passed: 0,
    failed: 1,
    skipped: 0,
    failures: [],
  });
});
