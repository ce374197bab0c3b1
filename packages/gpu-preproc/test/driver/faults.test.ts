import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Device } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import sharp from 'sharp';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { buildFakeLibnvjpeg } from '../../../cuda-native/test/fake-libnvjpeg/build.mjs';
import { decodeImage, imageFrom, Preprocessor } from '../../src/index.js';
import { makeBlock, spec } from '../host-block.js';
import { noise } from '../noise.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();
const folder = mkdtempSync(join(tmpdir(), 'zerohop-faults-'));
process.env.ZEROHOP_FAKE_REPORT = join(folder, 'report.json');

/** What is alive on the devices. */
function alive(): Record<string, number> {
  return JSON.parse(readFileSync(process.env.ZEROHOP_FAKE_REPORT as string, 'utf8'));
}

describeTier('driver', 'faults of the driver', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(['cuMemFree', 'cuStreamDestroy', 'cuModuleUnload'])(
    '%s fails: close says so, and gives back all',
    async (call) => {
      const device = await Device.open(0);
      const before = alive();
      const target = spec([1, 3, 24, 40]);
      const pre = await Preprocessor.create({ target, device, mean: 0.5 });
      const picture = imageFrom(noise(1, 3 * 50 * 30), { width: 50, height: 30, format: 'RGB8' });
      await pre.run(picture, makeBlock(target));
      process.env.ZEROHOP_FAKE_FAIL = `${call}=1`;
      onTestFinished(() => {
        process.env.ZEROHOP_FAKE_FAIL = '';
      });
      await expect(pre.close()).rejects.toMatchObject({ code: 'CUDA_ERROR_INVALID_VALUE' });
      expect(alive()).toEqual(before);
    },
  );

  test('a JPEG that says 0 rows, which nvJPEG has no memory for, is left to sharp, and refused', async () => {
    const device = await Device.open(0);
    const create = { width: 32, height: 16, channels: 3, background: 'red' } as const;
    const jpeg = await sharp({ create }).jpeg().toBuffer();
    await using image = await decodeImage(jpeg, { device });
    expect(image.decoder).toBe('nvjpeg');
    jpeg.writeUInt16BE(0, jpeg.indexOf(Buffer.from([0xff, 0xc0])) + 5);
    await expect(decodeImage(jpeg, { device })).rejects.toMatchObject({ code: 'ERR_IMAGE_CORRUPT' });
  });
});
