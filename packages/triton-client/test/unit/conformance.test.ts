import { expect, test } from 'vitest';
import { CASES } from '../conformance/cases/all.js';
import { coverageTable, gaps } from '../conformance/coverage.js';

test('every row has an accepted and a refused use on each transport and server, or a reason why not', () => {
  expect(gaps()).toEqual([]);
});

test('no two cases have the same name', () => {
  const names = CASES.map(({ row, use, title, transports = [] }) => `${row}, ${use}: ${title} ${transports.join()}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('the table is up to date', async () => {
  await expect(coverageTable()).toMatchFileSnapshot('../../docs/conformance.md');
});
