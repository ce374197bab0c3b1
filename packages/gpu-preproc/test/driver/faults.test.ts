import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Device } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { imageFrom, Preprocessor } from '../../src/index.js';
import { makeBlock, spec } from '../host-block.js';
import { noise } from '../noise.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();
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
});
