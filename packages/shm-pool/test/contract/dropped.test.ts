import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const dropped = fileURLToPath(new URL('../fixtures/dropped.mjs', import.meta.url));

test('memory that a server has registered outlives a pool and a region that nobody closed', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--expose-gc', dropped]);
  expect(JSON.parse(stdout)).toEqual({ collected: true, entries: 3, listed: 3 });
  expect(stderr).not.toContain('ZEROHOP_LEAK');
});
