import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DeviceMemory } from '@zerohop/cuda-native';
import { describeTier, seeded } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkImage } from '../../src/gpu/device-image.js';
import { writeJob } from '../../src/gpu/job.js';
import { entryPoint, layOut, partsOf, tileOrigins } from '../../src/gpu/layout.js';
import { isPlain, tableBytes } from '../../src/gpu/normalisation.js';
import { traitsOf } from '../../src/reference/formats.js';
import { byReference, FORMAT_NAMES, type KernelCase, randomCase } from '../kernel-cases.js';
import { define } from '../kernel-definition.js';

const CANARY = 0xc3;

/** One launch as the program reads it; the output has an element more at the end, which nothing may write. */
function launchOf({ image, recipe }: KernelCase): { input: Buffer; outputBytes: number } {
  const { data, ...shape } = image;
  const memory = { byteLength: data.byteLength, address: 0n } as DeviceMemory;
  const source = checkImage({ ...shape, memory });
  const layout = layOut(recipe, source.crop);
  const tiles = tileOrigins(layout.tiles).length;
  const table = source.traits.max === 255 && !isPlain(recipe, 255) ? tableBytes(recipe) : new Uint8Array();
  const bytes = { FP32: 4, FP16: 2, UINT8: 1, INT8: 1 }[recipe.datatype];
  const outputBytes = (tiles * recipe.channels * recipe.width * recipe.height + 1) * bytes;
  const { way, parts } = partsOf(recipe, source, layout);
  const entry = entryPoint(way, source.traits, recipe.datatype);
  const numbers = [recipe.width, recipe.height, tiles, data.byteLength, outputBytes, table.byteLength];
  const each = recipe.channels * recipe.width * recipe.height;
  const jobs = parts.map((part, i) =>
    Buffer.from(writeJob(recipe, part.source, part.layout, { source: 0n, outputElements: i * each }).buffer),
  );
  const head = Buffer.from(`${entry} ${numbers.join(' ')}\n`);
  const output = Buffer.alloc(outputBytes, CANARY);
  return { input: Buffer.concat([head, ...jobs, data, output, table]), outputBytes };
}

describeTier('host', "the kernels' code compiled by g++", () => {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-kernels-'));
  const program = join(folder, 'kernels');
  beforeAll(() => {
    const source = fileURLToPath(new URL('./kernels_host.cpp', import.meta.url));
    const options = ['-std=c++17', '-O1', '-ffp-contract=off', '-Wall', '-Wextra', '-Werror'];
    execFileSync('g++', [...options, '-o', program, source], { stdio: 'inherit' });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function run(input: Buffer): Buffer {
    const { stdout, status, stderr } = spawnSync(program, { input, maxBuffer: 2 ** 30 });
    expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: '' });
    return stdout;
  }

  test.each(FORMAT_NAMES)('%s: random shapes and recipes, byte for byte', (format) => {
    const { next } = seeded(20261202 + FORMAT_NAMES.indexOf(format));
    // The reference makes a table of 65,536 entries for each recipe of a deep format.
    const cases = Array.from({ length: traitsOf(format).max === 255 ? 60 : 25 }, () => randomCase(next, format, 90));
    const launches = cases.map(launchOf);
    const outputs = run(Buffer.concat(launches.map(({ input }) => input)));
    let at = 0;
    for (const [i, { outputBytes }] of launches.entries()) {
      const one = cases[i] as KernelCase;
      const expected = define(one.image, one.recipe);
      const output = outputs.subarray(at, at + outputBytes);
      at += outputBytes;
      const rest = output.subarray(expected.byteLength);
      expect({
        name: one.name,
        equal: output.subarray(0, expected.byteLength).equals(expected),
        reference: Buffer.compare(expected, byReference(one)),
        intact: rest.every((byte) => byte === CANARY),
      }).toEqual({ name: one.name, equal: true, reference: 0, intact: true });
    }
    expect(at).toBe(outputs.byteLength);
  });

  test('divides every value of 8, 12 and 16 bits as a division does', () => {
    expect(run(Buffer.from('divide 255\ndivide 4095\ndivide 65535\n')).toString()).toBe('0 0\n0 0\n0 0\n');
  });
});
