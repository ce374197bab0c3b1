import { constants } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { describeTier, seeded } from '@zerohop/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CudaError, Device, type DeviceMemory, type Module, type Stream } from '../../src/index.js';
import { checkModuleImage } from '../../src/module-image.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

const fixture = (name: string) => new Uint8Array(readFileSync(new URL(`../fixtures/${name}`, import.meta.url)));
const cubin = fixture('kernels.sm_90.cubin');
const fatbin = fixture('kernels.fatbin');
const ptx = fixture('kernels.ptx');

/** What comes of something that may be refused: the error, or undefined. */
async function errorOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}

describeTier('driver', 'bad input', () => {
  let device: Device;
  let stream: Stream;
  let memory: DeviceMemory;

  beforeAll(async () => {
    device = await Device.open(0);
    stream = device.createStream();
    memory = await device.alloc(4096);
  });

  afterAll(async () => {
    await stream.close();
    await memory.close();
  });

  /** The context is as good as before. */
  async function expectUsable(): Promise<void> {
    expect(device.contextLost).toBe(false);
    stream.fill(memory, 7);
    const bytes = new Uint8Array(4096);
    await stream.copyToHost(bytes, memory);
    expect(bytes.every((byte) => byte === 7)).toBe(true);
  }

  describe('module images', () => {
    it.each([
      ['cubin', cubin],
      ['fatbin', fatbin],
    ])('a %s that is cut short anywhere is refused before the driver reads beyond it', (_, image) => {
      expect(checkModuleImage(image)).toEqual(image);
      for (let length = 0; length < image.length; length += length < 256 ? 1 : 61) {
        expect(() => checkModuleImage(image.subarray(0, length)), `${length} bytes`).toThrow(RangeError);
      }
      expect(() => checkModuleImage(image.subarray(0, image.length - 1))).toThrow(
        'Expected a whole fatbin, cubin or PTX for image but received ',
      );
    });

    it.each([
      ['cubin', cubin],
      ['fatbin', fatbin],
      ['PTX', ptx],
    ])('a %s with flipped bits is refused, or not, and the context stands', async (_, image) => {
      const random = seeded(3);
      for (let round = 0; round < 150; round += 1) {
        const damaged = image.slice();
        // Most of them where the headers are.
        const end = round % 3 === 0 ? damaged.length : 512;
        const at = random.integer(0, end - 1);
        damaged[at] = (damaged[at] ?? 0) ^ (1 << random.integer(0, 7));
        let module: Module | undefined;
        const error = await errorOf(async () => {
          module = await device.loadModule(damaged);
        });
        await module?.close();
        if (error !== undefined && !(error instanceof RangeError)) expect(error).toBeInstanceOf(CudaError);
        expect(device.contextLost, `bit of byte ${at}`).toBe(false);
      }
      await expectUsable();
    });

    it('random bytes, and those of a buffer that is gone, are refused', async () => {
      const random = seeded(4);
      for (const length of [0, 1, 7, 8, 64, 4096]) {
        const bytes = Uint8Array.from({ length }, () => random.integer(0, 255));
        await expect(device.loadModule(bytes)).rejects.toThrow(RangeError);
      }
      const gone = new ArrayBuffer(64);
      structuredClone(gone, { transfer: [gone] });
      await expect(device.loadModule(gone)).rejects.toThrow('received one of a detached buffer');
    });

    it('what changes while it is loaded was copied before it was checked', async () => {
      const shared = new Uint8Array(new SharedArrayBuffer(cubin.length));
      shared.set(cubin);
      const loading = device.loadModule(shared);
      shared.fill(0xff);
      await (await loading).close();
    });
  });

  describe('handles of other processes', () => {
    it('forged ones are refused by their size, their device, or the driver', async () => {
      const handle = {
        rawHandle: new Uint8Array(64),
        byteOffset: 0,
        allocationByteLength: 4096,
        deviceUuid: device.uuid,
      };
      const random = seeded(5);
      for (let round = 0; round < 100; round += 1) {
        const rawHandle = Uint8Array.from({ length: 64 }, () => random.integer(0, 255));
        await expect(device.openIpc({ ...handle, rawHandle })).rejects.toBeInstanceOf(CudaError);
      }
      // Fewer bytes than the object says.
      const short = Object.defineProperty(new Uint8Array(8), 'byteLength', { value: 64 });
      await expect(device.openIpc({ ...handle, rawHandle: short })).rejects.toThrow('received 8 bytes');
      const none = Object.defineProperty(Object.create(Uint8Array.prototype), 'byteLength', {
        value: 64,
      }) as Uint8Array;
      await expect(device.openIpc({ ...handle, rawHandle: none })).rejects.toThrow('Expected Uint8Array of 64 bytes');
      await expectUsable();
    });
  });

  describe('sizes', () => {
    it('come from the memory, not from what an object says of itself', async () => {
      const small = await device.alloc(64);
      const large = await device.alloc(4096);
      Object.defineProperties(small, { byteLength: { value: 4096 }, address: { value: 1n } });
      expect(() => small.slice(0, 65)).toThrow('Expected integer between 1 and 64 for byteLength');
      expect(() => stream.copy(small, large)).toThrow('received 4096 and 64 bytes');
      const view = Object.defineProperty(new Uint8Array(16), 'byteLength', { value: 64 });
      expect(() => stream.copyToDevice(small, view)).toThrow('received 16 and 64 bytes');
      await small.close();
      await large.close();
      await expectUsable();
    });

    it('that change from one reading to the next are read once', async () => {
      const source = await device.alloc(4096);
      let reads = 0;
      const copy = { dst: memory, dstPitch: 64, src: source, srcPitch: 64, height: 1 };
      stream.copy2d(
        Object.defineProperty(copy, 'width', { get: () => (reads++ === 0 ? 16 : 4096) }) as typeof copy & {
          width: number;
        },
      );
      const uuids = [device.uuid, {}, 1];
      const which = Object.defineProperty({}, 'uuid', { get: () => uuids.shift() }) as { uuid: string };
      expect(await Device.open(which)).toBe(device);
      await stream.done();
      await source.close();
      await expectUsable();
    });

    it('beyond what an ArrayBuffer holds are refused before anything is reserved', async () => {
      const message = /^Expected at most \d+ bytes for one ArrayBuffer but received \d+ bytes/;
      const beyond = constants.MAX_LENGTH + 1;
      // From Node 22 on an ArrayBuffer holds all that a number counts: then the driver has the word.
      const refused = Number.isSafeInteger(beyond) ? message : 'CUDA_ERROR_OUT_OF_MEMORY';
      await expect(device.allocPinned(Math.min(beyond, Number.MAX_SAFE_INTEGER))).rejects.toThrow(refused);
    });

    it('of pitched copies are checked', () => {
      const copy = {
        dst: memory.slice(0, 2048),
        dstPitch: 64,
        src: memory.slice(2048, 2048),
        srcPitch: 64,
        width: 16,
        height: 32,
      };
      for (const wrong of [
        { width: 0 },
        { width: 65 },
        { height: 33 },
        { height: 2 ** 53 },
        { dstPitch: 15 },
        { srcPitch: 2 ** 31 },
        { srcPitch: Number.NaN },
        { src: memory.slice(8, 2048) },
      ]) {
        expect(() => stream.copy2d({ ...copy, ...wrong }), JSON.stringify(wrong)).toThrow(RangeError);
      }
    });
  });

  describe('host memory', () => {
    it('whose buffer may shrink under a copy is refused', () => {
      const Resizable = ArrayBuffer as unknown as new (
        length: number,
        options: { maxByteLength: number },
      ) => ArrayBuffer;
      const bytes = new Uint8Array(new Resizable(4096, { maxByteLength: 8192 }));
      expect(() => stream.copyToDevice(memory, bytes)).toThrow('received one of a buffer that can be resized');
      expect(() => stream.copyToHost(bytes, memory)).toThrow(TypeError);
    });
  });

  describe('launches', () => {
    it('over the limits are refused', async () => {
      await using module = await device.loadModule(ptx);
      const kernel = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
      const launch = (config: object, ...args: unknown[]) =>
        (stream.launch as (...all: unknown[]) => void).call(stream, kernel, config, ...args);
      const good = { grid: 1, block: 1 };
      for (const wrong of [
        { grid: 0 },
        { grid: 2 ** 31 },
        { grid: [1, 65536] },
        { grid: [1, 1, 65536] },
        { grid: [1, 1, 1, 1] },
        { grid: [] },
        { block: 1025 },
        { block: [1, 1, 65] },
        { block: [32, 33] },
        { sharedBytes: 49153 },
        { sharedBytes: -1 },
        { cluster: 2 },
        { cluster: [3, 3], grid: [3, 3] },
      ]) {
        expect(() => launch({ ...good, ...wrong }, memory, 1, 1), JSON.stringify(wrong)).toThrow(/^Expected /);
      }
      for (const args of [
        [memory, 1],
        [memory, 1, 1, 1],
        [memory, -1, 1],
        [memory, 2 ** 32, 1],
        [memory, 1.5, 1],
        [memory, 1n, 1],
        [memory.address, 1, 1],
        [undefined, 1, 1],
      ]) {
        expect(() => launch(good, ...args)).toThrow(/^Expected /);
      }
      await expectUsable();
    });
  });
});
