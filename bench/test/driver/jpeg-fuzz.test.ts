import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { buildFakeLibcuda } from '../../../packages/cuda-native/test/fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../../../packages/cuda-native/test/fake-libnvjpeg/build.mjs';

function run(...options: string[]) {
  const program = join(repositoryRoot, 'bench', 'dist', 'jpeg-fuzz.js');
  const env = { ...process.env, ZEROHOP_LIBCUDA: buildFakeLibcuda(), ZEROHOP_LIBNVJPEG: buildFakeLibnvjpeg() };
  return spawnSync(process.execPath, [program, ...options], { env, encoding: 'utf8' });
}

describeTier('driver', 'damaged JPEGs through nvJPEG', () => {
  test('are decoded or refused with a code, the same ones each time', () => {
    const [first, second] = [run('--count', '200'), run('--count', '200')];
    expect(first.stderr).toBe('');
    expect(first.status).toBe(0);
    const { outcomes } = JSON.parse(first.stdout) as { outcomes: Record<string, number> };
    expect(Object.values(outcomes).reduce((sum, count) => sum + count, 0)).toBe(200);
    expect(Object.keys(outcomes)).toEqual(
      expect.arrayContaining(['decoded', 'ERR_JPEG_CORRUPT', 'ERR_JPEG_TRUNCATED']),
    );
    expect((JSON.parse(second.stdout) as typeof first & { outcomes: object }).outcomes).toEqual(outcomes);
  });

  test('a process that can not start is a problem, and the status says so', () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(repositoryRoot, 'bench', 'dist', 'jpeg-fuzz.js'), '--count', '5'],
      { env: { ...process.env, ZEROHOP_LIBCUDA: '/nowhere/libcuda.so.1' }, encoding: 'utf8' },
    );
    expect(status).toBe(1);
    expect(stderr).toContain('picture -1 of seed 1: the process ended with 1');
  });
});
