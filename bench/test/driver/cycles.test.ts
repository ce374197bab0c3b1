import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { buildFakeLibcuda } from '../../../packages/cuda-native/test/fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../../../packages/cuda-native/test/fake-libnvjpeg/build.mjs';
import { KINDS } from '../../src/cycles/kinds.js';

const run = promisify(execFile);
const fakes = { ZEROHOP_LIBCUDA: buildFakeLibcuda(), ZEROHOP_LIBNVJPEG: buildFakeLibnvjpeg() };

describeTier('driver', 'create/close cycles', () => {
  test('leave nothing behind, of any class', { timeout: 120_000 }, async () => {
    const program = join(repositoryRoot, 'bench', 'dist', 'cycles.js');
    const options = ['--count', '500', '--warm-up', '500'];
    const env = { ...process.env, ...fakes };
    const { stdout, stderr } = await run(process.execPath, [program, ...options], { env });
    expect(stderr).toBe('');
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(Object.keys(KINDS).length);
    for (const line of lines) expect(line).toMatch(/: 500 cycles in .*: nothing grew$/);
  });

  test('may run side by side, where one takes long', { timeout: 60_000 }, async () => {
    const program = join(repositoryRoot, 'bench', 'dist', 'cycles.js');
    const options = ['--kinds', 'encoder', '--count', '200', '--warm-up', '20', '--together', '4'];
    const { stdout } = await run(process.execPath, [program, ...options], { env: { ...process.env, ...fakes } });
    expect(stdout).toMatch(/^JpegEncoder: 200 cycles in .*: nothing grew\n$/);
  });
});
