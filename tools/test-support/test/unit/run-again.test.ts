import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';
import { type Counts, folderOf, type Report, runIn } from '../support/vitest-run.js';

type Run = (filters: string[]) => Promise<{ report: Report | undefined; ok: boolean }>;

const { runTwice } = (await import(join(repositoryRoot, 'scripts', 'run-again.mjs'))) as {
  runTwice(run: Run, filters: string[], inCi?: boolean): Promise<Counts & { passedAgain?: string[] }>;
};

/** What a gate makes of these files, and which of them it ran. */
async function gate(files: Record<string, string>, inCi = true) {
  const folder = folderOf(files);
  const ran: string[][] = [];
  const run: Run = (filters) => {
    ran.push(filters);
    return Promise.resolve(runIn(folder, filters));
  };
  return { ran, ...(await runTwice(run, [], inCi)) };
}

const GOOD = "import { test } from 'vitest';\ntest('good', () => {});\n";
/** Does `what` in the first run only. */
const once = (what: string) =>
  [
    "import { existsSync, writeFileSync } from 'node:fs';",
    "import { test } from 'vitest';",
    "test('steady', () => {});",
    "test('fickle', async () => {",
    "  const mark = import.meta.filename + '.ran';",
    '  if (existsSync(mark)) return;',
    "  writeFileSync(mark, '');",
    `  ${what}`,
    '});',
  ].join('\n');
const BAD = "import { test } from 'vitest';\ntest('bad', () => { throw new Error('always'); });\n";

test('what fails once passes, and is named', async () => {
  const files = { 'fickle.test.js': once("throw new Error('bad luck');"), 'good.test.js': GOOD };
  const { passedAgain, ...rest } = await gate(files);
  expect(rest).toEqual({ ran: [[], ['fickle.test.js']], passed: 3, failed: 0, skipped: 0, failures: [] });
  expect(passedAgain).toEqual([expect.stringMatching(/^fickle\.test\.js > fickle\n {4}Error: bad luck/)]);
});

test.each([
  ['a process that crashes', "process.kill(process.pid, 'SIGKILL');"],
  ['an error of no test', "void Promise.reject(new Error('nobody waits')); await new Promise(setImmediate);"],
])('%s is run again too', async (_, what) => {
  const { passedAgain, ran, ...counts } = await gate({ 'fickle.test.js': once(what), 'good.test.js': GOOD });
  expect(ran).toEqual([[], ['fickle.test.js']]);
  expect(counts).toEqual({ passed: 3, failed: 0, skipped: 0, failures: [] });
  expect(passedAgain).toContainEqual(expect.stringMatching(/^outside of a test\n/));
});

test('what fails twice fails', async () => {
  const files = { 'bad.test.js': BAD, 'fickle.test.js': once("throw new Error('bad luck');") };
  const { failures, passedAgain, ...rest } = await gate(files);
  expect(rest).toMatchObject({ passed: 2, failed: 1 });
  expect(failures).toEqual([expect.stringMatching(/^bad\.test\.js > bad\n/)]);
  expect(passedAgain).toEqual([expect.stringMatching(/^fickle\.test\.js > fickle\n/)]);
});

test('nothing is run again outside of the gate, nor when much fails', async () => {
  expect(await gate({ 'bad.test.js': BAD }, false)).toMatchObject({ ran: [[]], failed: 1 });
  const many = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.test.js`, BAD]));
  expect(await gate(many)).toMatchObject({ ran: [[]], failed: 4 });
});

const counts = (failures: string[] = []): Counts => ({ passed: 1, failed: failures.length, skipped: 0, failures });

test('an error of a file that is not known is not forgiven with the failures of others', async () => {
  const report: Report = {
    files: { 'a.test.js': counts(['a.test.js > bad']), 'b.test.js': counts() },
    errors: [{ text: 'outside of a test' }],
  };
  const ran: string[][] = [];
  const run: Run = (filters) => {
    ran.push(filters);
    return Promise.resolve({ report, ok: false });
  };
  expect(await runTwice(run, [], true)).toMatchObject({ failed: 2 });
  expect(ran).toEqual([[]]);
});

test('a file that the second run does not find has failed', async () => {
  const first: Report = { files: { 'a.test.js': { ...counts(['a.test.js\n    no import']), failed: 0 } }, errors: [] };
  const runs = [
    { report: first, ok: false },
    { report: { files: {}, errors: [] }, ok: true },
  ];
  const run: Run = () => Promise.resolve(runs.shift() ?? { report: undefined, ok: false });
  expect(await runTwice(run, [], true)).toMatchObject({ failed: 1, failures: ['a.test.js\n    no import'] });
});

test('a run that leaves no report has failed', async () => {
  const run: Run = () => Promise.resolve({ report: undefined, ok: false });
  expect(await runTwice(run, [], true)).toEqual({ passed: 0, failed: 1, skipped: 0, failures: [] });
});
