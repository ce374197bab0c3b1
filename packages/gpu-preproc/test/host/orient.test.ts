import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DeviceMemory } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { orientLaunch } from '../../src/gpu/orienter.js';
import { orient } from '../../src/reference.js';
import { orientCases } from '../orient-cases.js';

const CANARY = 0xc3;

describeTier('host', "the orienting kernel's code compiled by g++", () => {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-orient-'));
  const program = join(folder, 'orient');
  beforeAll(() => {
    const source = fileURLToPath(new URL('./orient_host.cpp', import.meta.url));
    const options = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-fsanitize=address,undefined'];
    execFileSync('g++', [...options, '-o', program, source], { stdio: 'inherit' });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(orientCases())('$width x $height, pitch $pitch, orientation $orientation', ({ orientation, ...image }) => {
    const { data, byteOffset, ...shape } = image;
    const memory = { byteLength: data.byteLength, address: 0n } as DeviceMemory;
    const { job } = orientLaunch({ ...shape, byteOffset, memory }, orientation);
    const expected = orient({ ...shape, data: data.subarray(byteOffset) }, orientation).data;
    const output = Buffer.alloc(expected.byteLength + 1, CANARY);
    const head = Buffer.from(`${data.byteLength} ${output.byteLength}\n`);
    const input = Buffer.concat([head, Buffer.from(job.buffer), data, output]);
    const { stdout, status, stderr } = spawnSync(program, { input, maxBuffer: 2 ** 26 });
    expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: '' });
    expect(Buffer.concat([expected, Buffer.of(CANARY)]).equals(stdout)).toBe(true);
  });
});
