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

import { checkRecipe } from '../../src/gpu/recipe.js';
import { traitsOf } from '../../src/reference/formats.js';
import { byReference, FORMAT_NAMES, type KernelCase, noiseImage, randomCase } from '../kernel-cases.js';

import { define } from '../kernel-definition.js';

/** How far memory may be from a multiple of 16. */
const PHASES = 16;

/**
 * One launch as the program reads it. `phase`: how many samples the image's memory and how many elements the tensor's are
 * from an address that is a multiple of 16.
 */
function launchOf({ image, recipe }: KernelCase, phase: number): { input: Buffer; outputBytes: number } {
  const { data, ...shape } = image;
  const memory = { byteLength: data.byteLength, address: 0n } as DeviceMemory;
  const source = checkImage({ ...shape, memory });
  const layout = layOut(recipe, source.crop);
  const tiles = tileOrigins(layout.tiles).length;
  const { max } = source.traits;
  const sample = max > 255 ? 2 : 1;
  const table = max === 255 && !isPlain(recipe, 255) ? tableBytes(recipe) : new Uint8Array();
  const bytes = { FP32: 4, FP16: 2, UINT8: 1, INT8: 1 }[recipe.datatype];
  const each = recipe.channels * recipe.width * recipe.height;
  const outputBytes = tiles * each * bytes;
  const { way, parts } = partsOf(recipe, source, layout);
  const entry = entryPoint(way, source.traits, recipe.datatype);
  const sizes = [recipe.width, recipe.height, tiles, data.byteLength, outputBytes, table.byteLength];
  const phases = [(sample * phase) % PHASES, (bytes * phase) % PHASES];
  const jobs = parts.map((part, i) =>
    Buffer.from(writeJob(recipe, part.source, part.layout, { source: 0n, outputElements: i * each }).buffer),
  );
  const head = Buffer.from(`${entry} ${[...sizes, ...phases].join(' ')}\n`);
  return { input: Buffer.concat([head, ...jobs, data, table]), outputBytes };
}

describeTier('host', "the kernels' code compiled by g++", () => {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-kernels-'));
  const program = join(folder, 'kernels');
  beforeAll(() => {
    const source = fileURLToPath(new URL('./kernels_host.cpp', import.meta.url));
    const options = ['-std=c++17', '-O1', '-g1', '-ffp-contract=off', '-Wall', '-Wextra', '-Werror'];
    const checked = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
    execFileSync('g++', [...options, ...checked, '-o', program, source], { stdio: 'inherit' });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function run(input: Buffer): Buffer {
    const { stdout, status, stderr } = spawnSync(program, { input, maxBuffer: 2 ** 30 });
    expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: '' });
    return stdout;
  }

  /** Runs the cases, each at an address of its own, and compares. */
  function expectDefined(cases: readonly KernelCase[]): void {
    const launches = cases.map((one, i) => launchOf(one, i % PHASES));
    const outputs = run(Buffer.concat(launches.map(({ input }) => input)));
    let at = 0;
    for (const [i, { outputBytes }] of launches.entries()) {
      const one = cases[i] as KernelCase;
      const expected = define(one.image, one.recipe);
      const output = outputs.subarray(at, at + outputBytes);
      at += outputBytes;
      expect({
        name: one.name,
        equal: output.equals(expected),
        reference: Buffer.compare(expected, byReference(one)),
      }).toEqual({ name: one.name, equal: true, reference: 0 });
    }
    expect(at).toBe(outputs.byteLength);
  }

  test.each(FORMAT_NAMES)(
    '%s: random shapes and recipes, byte for byte, in memory of exactly what is used',
    (format) => {
      const { next } = seeded(20261202 + FORMAT_NAMES.indexOf(format));
      // The reference makes a table of 65,536 entries for each recipe of a deep format.
      const count = traitsOf(format).max === 255 ? 60 : 25;
      expectDefined(Array.from({ length: count }, () => randomCase(next, format, 90)));
    },
  );

  test.each(FORMAT_NAMES)('%s: whole groups of pixels up to the last byte, from any address', (format) => {
    const cases = (['FP32', 'FP16'] as const).flatMap((datatype) =>
      [8, 16, 24].flatMap((width) =>
        Array.from({ length: PHASES }, (_, seed): KernelCase => {
          const size = { width, height: 4 };
          const recipe = checkRecipe({ ...size, datatype, resize: 'none' });
          return { name: `${datatype} ${width} ${seed}`, image: noiseImage(seed, { ...size, format }), recipe };
        }),
      ),
    );
    expectDefined(cases);
  });

  test('divides every value of 8, 12 and 16 bits as a division does', () => {
    expect(run(Buffer.from('divide 255\ndivide 4095\ndivide 65535\n')).toString()).toBe('0 0\n0 0\n0 0\n');
  });
});
