import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

const codes = [...read('src/errors.ts').matchAll(/^ {2}\| '(ERR_[A-Z_]+)'/gm)].map(([, code]) => code);

interface Row {
  readonly condition: string;
  readonly code: string;
  readonly file: string;
  readonly title: string;
}

const rows = read('docs/failures.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| ---') && !line.startsWith('| condition'))
  .map((line): Row => {
    const [condition = '', code = '', , test = ''] = line.replace(/^\| | \|$/g, '').split(' | ');
    const [, file = '', title = ''] = /^`([^`]+)`: (.+)$/.exec(test) ?? [];
    return { condition, code, file, title };
  });

/** As a quoted string of the source has it. */
const asWritten = (title: string) => new RegExp(title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", "\\\\?'"));

test('every code of the sources is in docs/failures.md', () => {
  const listed = new Set(rows.flatMap(({ code }) => [...code.matchAll(/ERR_[A-Z_]+/g)].map(([each]) => each)));
  expect(codes.length).toBeGreaterThan(20);
  expect([...listed].sort()).toEqual([...codes].sort());
});

test.for(rows)('$condition: its test is there, and expects $code', ({ code, file, title }) => {
  const text = read(`test/${file}`);
  expect(asWritten(title).test(text), `test/${file} has no test '${title}'`).toBe(true);
  for (const [each] of code.matchAll(/ERR_[A-Z_]+/g)) {
    expect(text.includes(`'${each}'`), `test/${file} does not expect ${each}`).toBe(true);
  }
});
