import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier, type Snapshot, sharedTriton, takeSnapshot, withSmallSharedMemory } from '@zerohop/test-support';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { expectNothingLeftOfCli, runCli } from '../support/cli.js';
import { samplePaths } from '../support/samples.js';

const sample = samplePaths[0] as string;
/** Nothing listens on the discard port. */
const nowhere = 'grpc://127.0.0.1:9';

let folder: string;
let before: Snapshot;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zerohop-bad-'));
  before = takeSnapshot();
  const jpeg = readFileSync(sample);
  writeFileSync(join(folder, 'truncated.jpg'), jpeg.subarray(0, jpeg.length / 2));
  writeFileSync(join(folder, 'text.jpg'), 'not a picture');
  writeFileSync(join(folder, 'empty.jpg'), '');
  writeFileSync(join(folder, 'picture.svg'), '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
  writeFileSync(join(folder, 'labels.txt'), 'one\ntwo\n');
  mkdirSync(join(folder, 'directory'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await expectNothingLeftOfCli(before);
});

/** Runs, and expects one sentence on stderr, nothing on stdout, and no file that was not there. */
async function expectRefusal(
  words: readonly string[],
  expected: { code: number; sentence: RegExp; progress?: readonly string[] },
  through?: readonly string[],
): Promise<void> {
  const files = readdirSync(folder);
  // A machine with a GPU must not see it: what is refused here is the same everywhere.
  const { code, stdout, stderr } = await runCli(['detect', ...words, '--json=result.json', '--out', 'out'], {
    cwd: folder,
    env: { CUDA_VISIBLE_DEVICES: '' },
    ...(through === undefined ? {} : { through }),
  });
  const lines = stderr.split('\n');
  expect(lines.slice(0, -2)).toEqual(expected.progress ?? []);
  expect(lines.at(-2)).toMatch(/^zerohop: \S.*\.$/);
  expect(lines.at(-2)).toMatch(expected.sentence);
  expect(lines.at(-1)).toBe('');
  expect(stderr).not.toMatch(/^\s+at |node:|Error:/m);
  expect(stdout).toBe('');
  expect(code).toBe(expected.code);
  expect(readdirSync(folder)).toEqual(files);
}

const url = (): string[] => ['--url', sharedTriton().grpcUrl];

describeTier('triton', 'bad input', () => {
  it.each([
    ['a missing file', 'none.jpg', /none\.jpg does not exist; check the path\.$/],
    ['a directory', 'directory', /directory is a directory; name the files in it instead\.$/],
    ['a truncated JPEG', 'truncated.jpg', /truncated\.jpg is truncated or damaged; copy or export it again\.$/],
    ['text', 'text.jpg', /text\.jpg is no JPEG, PNG, WebP or TIFF image; convert it first\.$/],
    ['an empty file', 'empty.jpg', /empty\.jpg is no JPEG, PNG, WebP or TIFF image; convert it first\.$/],
    ['an SVG', 'picture.svg', /picture\.svg is no JPEG, PNG, WebP or TIFF image; convert it first\.$/],
  ])('%s', async (_, image, sentence) => {
    await expectRefusal([image], { code: 1, sentence });
  });

  it('a model that the server does not have', async () => {
    await expectRefusal([sample, ...url(), '--model', 'nobody'], {
      code: 1,
      sentence: /has no model "nobody" ready \(it has .*defects.*identity_64.*\); choose one with --model/,
    });
  });

  it('a model that does not come with this installation', async () => {
    await expectRefusal([sample, '--model', 'nobody'], {
      code: 1,
      sentence: /no model "nobody" to serve here \(these come with it: defects.*\); choose one with --model/,
    });
  });

  it('a model of another shape', async () => {
    await expectRefusal([sample, ...url(), '--model', 'identity_64'], {
      code: 1,
      sentence: /"identity_64" takes INPUT0 FP32 \[64, 64\], but detect needs exactly one image input/,
    });
  });

  it('a server that is not running', async () => {
    await expectRefusal([sample, '--url', nowhere], {
      code: 3,
      sentence: /No Triton server answers at grpc:\/\/127\.0\.0\.1:9; start it or correct --url/,
    });
  });

  it('an HTTP port where gRPC is expected', async () => {
    const { port } = new URL(sharedTriton().httpUrl);
    await expectRefusal([sample, '--url', `grpc://127.0.0.1:${port}`], {
      code: 3,
      sentence: /No Triton server answers at/,
    });
  });

  it('a port where something listens and says nothing', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    try {
      await once(silent, 'listening');
      const { port } = silent.address() as AddressInfo;
      await expectRefusal([sample, '--url', `grpc://127.0.0.1:${port}`], {
        code: 3,
        sentence: /No Triton server answers at/,
      });
    } finally {
      silent.close();
    }
  });

  it('--transport cuda without a GPU that can be used', async () => {
    await expectRefusal([sample, ...url(), '--transport', 'cuda'], {
      code: 3,
      sentence: /--transport cuda needs a GPU that this process can use: /,
    });
  });

  it('labels that do not fit', async () => {
    await expectRefusal([sample, ...url(), '--labels', 'labels.txt'], {
      code: 1,
      sentence: /labels\.txt has 2 labels but model "defects" has 4 classes/,
    });
    await expectRefusal([sample, ...url(), '--labels', 'none.txt'], { code: 1, sentence: /none\.txt does not exist/ });
  });

  it('a request that takes too long', async () => {
    await expectRefusal([sample, ...url(), '--timeout', '20'], {
      code: 1,
      sentence: /"defects" did not answer within 20 ms; give it longer with --timeout/,
      progress: ['Checking the pipeline with a known picture'],
    });
  });

  it('outputs that can not be written', async () => {
    const { code, stderr } = await runCli(['detect', sample, ...url(), '--out', join(folder, 'text.jpg')]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `zerohop: ${join(folder, 'text.jpg')} is not a directory; give --out a directory.\n`,
    });
    const json = await runCli(['detect', sample, ...url(), `--json=${join(folder, 'none', 'r.json')}`]);
    expect(json.code).toBe(1);
    expect(json.stderr).toMatch(/^zerohop: The directory of .*r\.json does not exist; create it first\.\n$/);
  });

  it('a stdout that is full', async () => {
    const through = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];
    const refusal = /zerohop: The results can't be written to stdout: ENOSPC.*\.\n$/;
    for (const words of [['--help'], ['detect', sample, ...url()], ['detect', sample, ...url(), '--json']]) {
      const { code, stderr } = await runCli(words, { through });
      expect(stderr).toMatch(refusal);
      expect(stderr).not.toMatch(/^\s+at /m);
      expect(code).toBe(1);
    }
  });

  it('a wrong command line', async () => {
    const { code, stdout, stderr } = await runCli(['detect', sample, '--transport', 'fast']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: option '--transport <kind>' argument 'fast' is invalid\./);
  });

  it('tells the causes only when asked', async () => {
    const { stderr } = await runCli(['detect', 'none.jpg'], { env: { ZEROHOP_DEBUG: '1' } });
    expect(stderr).toMatch(/^zerohop: none\.jpg does not exist[\s\S]*\n {4}at [\s\S]*\ncaused by: Error: ENOENT/);
  });
});

describeTier(
  'triton',
  'a full /dev/shm',
  () => {
    it('before a server is started', async () => {
      await expectRefusal(
        [sample],
        { code: 3, sentence: /\/dev\/shm has \d+ MiB free of 64 MiB, 224 MiB are needed: .*--shm-size=\d+m\.$/ },
        withSmallSharedMemory(64),
      );
    });

    it('when the slot is made', async () => {
      await expectRefusal(
        [sample, ...url(), '--transport', 'system'],
        { code: 3, sentence: /\/dev\/shm.*--shm-size/ },
        withSmallSharedMemory(64),
      );
    });
  },
  { needs: ['mount'] },
);
