import { expect, test } from 'vitest';
import { differencesBetween, KnownDifferences } from '../../support/differential/differences.js';

const list = (...rows: string[]) =>
  ['| A real server | The devserver | Why |', '| --- | --- | --- |', ...rows].join('\n');
const row = "| `wrong input '…' for a model` | `a model has no input '…'` | because |";
const outcome = (text: string, code: number | string = 3, data: unknown = undefined) => ({ code, text, data });
const [real, own] = [outcome("wrong input 'A' for a model"), outcome("a model has no input 'A'")];

test('a row excuses texts alone: the code and the data have to be the same, and nothing about regions is excused', () => {
  const known = new KnownDifferences(list(row));
  const count = (asked: boolean, there: typeof real, here: typeof own) =>
    differencesBetween({ aboutRegions: asked }, [there], [here], known).length;
  expect(count(false, real, own)).toBe(0);
  expect(known.takeCounts()).toEqual({ "wrong input '…' for a model": 1 });
  expect(known.takeCounts()).toEqual({});
  expect(count(true, real, own)).toBe(1);
  expect(count(false, real, { ...own, code: 13 })).toBe(1);
  expect(count(false, real, { ...own, data: 'other' })).toBe(1);
  expect(count(false, { ...real, text: 'anything else' }, own)).toBe(1);
});

test('an answer that one of them does not have is a difference', () => {
  const known = new KnownDifferences(list());
  expect(differencesBetween({ aboutRegions: false }, [real, real], [real], known)).toEqual([{ real, own: undefined }]);
});

test.each([
  ['about regions', "| `no shared memory region '…' here` | `there is no such region '…'` | because |"],
  ['that excuses nearly all', '| `…` | `…` | because |'],
  ['without a reason', '| `one text of a server` | `another text of it` |  |'],
  ['of something else than texts', '| 400 | 500 | because |'],
])('a row %s is refused', (_, line) => {
  expect(() => new KnownDifferences(list(line))).toThrow();
});

test('more than 25 rows are refused, and the list of the documentation is not', () => {
  expect(() => new KnownDifferences(list(...Array<string>(26).fill(row)))).toThrow(/26/);
  expect(new KnownDifferences(list(...Array<string>(25).fill(row))).length).toBe(25);
  expect(new KnownDifferences().length).toBeLessThanOrEqual(25);
});
