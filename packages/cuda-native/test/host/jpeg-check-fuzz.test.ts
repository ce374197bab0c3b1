/** The check of a JPEG under AddressSanitizer, with files that are damaged in many ways. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SAMPLINGS, writeJpeg } from '../support/jpeg-writer.js';

const ROUNDS = 30_000;
const SEED = 20261129;
const core = fileURLToPath(new URL('../../native/src/core/', import.meta.url));

const picture = () =>
  sharp({
    create: {
      width: 96,
      height: 64,
      channels: 3,
      background: '#c63',
      noise: { type: 'gaussian', mean: 128, sigma: 30 },
    },
  });

describeTier('host', 'the check of a JPEG, fuzzed', () => {
  let folder: string;
  let program: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'zerohop-jpeg-fuzz-'));
    program = join(folder, 'fuzz');
    const sources = readdirSync(core).filter((name) => /^(jpeg_.*|status)\.cc$/.test(name));
    execFileSync(
      process.env.CXX ?? 'g++',
      [
        ...['-std=c++17', '-fno-exceptions', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-I', core, '-o', program],
        ...['-fsanitize=address,undefined', '-fno-sanitize-recover=undefined'],
        fileURLToPath(new URL('jpeg_check_fuzz.cc', import.meta.url)),
        ...sources.map((name) => join(core, name)),
      ],
      { stdio: 'inherit' },
    );
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['baseline', () => picture().jpeg().toBuffer()],
    ['progressive', () => picture().jpeg({ progressive: true }).toBuffer()],
    ['with EXIF data', () => picture().withMetadata({ orientation: 6 }).jpeg().toBuffer()],
    [
      'with restart intervals',
      async () => writeJpeg({ width: 96, height: 64, sampling: SAMPLINGS['4:2:2'], restartInterval: 2 }),
    ],
  ])(`keeps to the file and to its word (seed ${SEED}): %s`, async (_, make) => {
    const file = join(folder, 'file.jpg');
    writeFileSync(file, await make());
    const { status, stdout, stderr } = spawnSync(program, [file, String(ROUNDS), String(SEED)], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(status).toBe(0);
    // Both answers were given often.
    const passed = Number(/^(\d+) of/.exec(stdout)?.[1]);
    expect(passed).toBeGreaterThan(ROUNDS / 10);
    expect(passed).toBeLessThan(ROUNDS * 0.9);
  });
});
