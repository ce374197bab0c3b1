import { Device, type Stream } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { imageFrom, Preprocessor } from '../../src/index.js';
import { deviceBlock } from '../device-block.js';
import { makeBlock, spec } from '../host-block.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();

const BYTES = 3 * 48 * 80;
const target = spec([1, 3, 48, 80], 'UINT8');
const shape = { width: 80, height: 48, format: 'RGB8' } as const;

/** From now on, each piece of work takes as long. */
function slowDown(): void {
  process.env.ZEROHOP_FAKE_WORK_DELAY_US = '20000';
  onTestFinished(() => {
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
  });
}

describeTier('driver', 'a run and its stream', () => {
  let device: Device;
  beforeAll(async () => {
    device = await Device.open(0);
  });

  async function filledLate() {
    const memory = await device.alloc(BYTES);
    const stream = device.createStream();
    onTestFinished(async () => {
      await stream.close();
      await memory.close();
    });
    slowDown();
    // Several, so that the last is later than a copy on another stream.
    for (const byte of [0, 0, 0, 200]) stream.fill(memory, byte);
    return { stream, image: imageFrom(memory, shape) };
  }

  test.each(['host', 'cuda'] as const)('the CPU reads a picture behind what fills it: %s block', async (kind) => {
    await using pre = await Preprocessor.create({ target, device: 'cpu' });
    const { stream, image } = await filledLate();
    const block = makeBlock({ ...target, kind });
    await pre.run(image, block, { stream });
    const bytes = kind === 'host' ? block.memory : block.writes[0]?.data;
    expect(bytes?.every((byte) => byte === 200)).toBe(true);
  });

  test('one that its owner closes: the run is over when its work is, and the next one works', async () => {
    await using pre = await Preprocessor.create({ target, device });
    const block = await deviceBlock(device, target);
    onTestFinished(() => block.close());
    const { stream, image } = await filledLate();
    const run = pre.run(image, block, { stream });
    let closed = false;
    const closing = stream.close().then(() => {
      closed = true;
    });
    await expect(run).rejects.toMatchObject({ code: 'ERR_DISPOSED' });
    expect(closed).toBe(true);
    await closing;
    await pre.run(image, block);
    expect((await block.read()).every((value) => value === 200)).toBe(true);
  });

  test('what is none is refused before the block is held', async () => {
    await using pre = await Preprocessor.create({ target, device });
    const block = makeBlock(target);
    const image = imageFrom(new Uint8Array(BYTES), shape);
    for (const wrong of [null, 7n, {}, 'stream']) {
      await expect(pre.run(image, block, { stream: wrong as unknown as Stream })).rejects.toThrow(TypeError);
    }
    expect(block.held).toEqual([]);
  });
});
