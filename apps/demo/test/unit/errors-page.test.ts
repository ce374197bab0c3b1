import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { describeError } from '../../src/errors.js';
import { ExitCode } from '../../src/exit-codes.js';

const page = readFileSync(join(repositoryRoot, 'docs', 'errors.md'), 'utf8');
const rows = [...page.matchAll(/^\| `([A-Z_]+)`( \*)? \|/gm)].map(([, code = '', star]) => ({
  code,
  star: star !== undefined,
}));

/** Codes as the sources write them: in single quotes, and in double quotes in C++. */
function codesInSources(): string[] {
  const sources = [
    ...readdirSync(join(repositoryRoot, 'packages')).map((name) => join(repositoryRoot, 'packages', name, 'src')),
    join(repositoryRoot, 'tools', 'local-triton', 'src'),
    join(repositoryRoot, 'apps', 'demo', 'src'),
  ];
  const codes = new Set<string>();
  for (const folder of sources) {
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.startsWith('gen/')) continue;
      const text = readFileSync(join(folder, file), 'utf8');
      for (const [, code = ''] of text.matchAll(/'((?:ERR|TRITON|ZEROHOP)_[A-Z_]+|CUDA_CLEANUP)'/g)) codes.add(code);
    }
  }
  const native = join(repositoryRoot, 'packages', 'cuda-native', 'native', 'src');
  for (const file of readdirSync(native, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.cc')) continue;
    for (const [, code = ''] of readFileSync(join(native, file), 'utf8').matchAll(/"(ERR_[A-Z_]+)"/g)) codes.add(code);
  }
  return [...codes].sort();
}

it('docs/errors.md has a row for every code of the sources, and for no other', () => {
  expect(rows.map(({ code }) => code).sort()).toEqual(codesInSources());
});

it('docs/errors.md marks the codes that end the command with 3', () => {
  const environment = rows.filter(({ code }) => {
    const { exitCode } = describeError(Object.assign(new Error(''), { code }));
    return exitCode === ExitCode.environment;
  });
  expect(rows.filter(({ star }) => star)).toEqual(environment);
});
