import { expect, it } from 'vitest';
import { type Copy2d, DisposedError } from '../../src/index.js';
import { loose, onDevice, pattern, read } from './on-device.js';

/** `height` rows of `width` bytes that begin `pitch` bytes apart, one behind the other. */
function rows(bytes: Uint8Array, pitch: number, width: number, height: number, start = 0): number[] {
  return Array.from({ length: height }, (_, row) => {
    const at = start + row * pitch;
    return Array.from(bytes.subarray(at, at + width));
  }).flat();
}

export function copy2dSuite(): void {
  const on = onDevice();

  it.each([
    ['host', 'device'],
    ['device', 'host'],
    ['device', 'device'],
    ['host', 'host'],
  ] as const)('goes from %s to %s, pitched to contiguous and back', async (from, to) => {
    const { device, stream } = on;
    const [width, height, pitch] = [37, 11, 64];
    const source = pattern(pitch * height);
    const make = async (where: 'host' | 'device', bytes: Uint8Array) => {
      if (where === 'host') {
        const pinned = await device.allocPinned(bytes.byteLength);
        new Uint8Array(pinned.buffer).set(bytes);
        return pinned;
      }
      const memory = await device.alloc(bytes.byteLength);
      await stream.copyToDevice(memory, bytes);
      return memory;
    };
    const bytesOf = async (memory: Awaited<ReturnType<typeof make>>) => {
      await stream.done();
      return 'buffer' in memory ? new Uint8Array(memory.buffer).slice() : read(stream, memory);
    };
    await using pitched = await make(from, source);
    await using tight = await make(to, new Uint8Array(width * height));
    stream.copy2d({ dst: tight, dstPitch: width, src: pitched, srcPitch: pitch, width, height });
    const contiguous = await bytesOf(tight);
    expect(Array.from(contiguous)).toEqual(rows(source, pitch, width, height));
    // Back into other memory: what lies between the rows stays.
    await using wide = await make(from, new Uint8Array(pitch * height).fill(255));
    stream.copy2d({ dst: wide, dstPitch: pitch, src: tight, srcPitch: width, width, height });
    const back = await bytesOf(wide);
    expect(rows(back, pitch, width, height)).toEqual(rows(source, pitch, width, height));
    expect(rows(back, pitch, pitch - width, height - 1, width).every((byte) => byte === 255)).toBe(true);
  });

  it('takes the part of an image that slices and views begin at', async () => {
    const { device, stream } = on;
    const [pitch, lines] = [48, 20];
    await using image = await device.alloc(pitch * lines);
    await using pinned = await device.allocPinned(4096);
    const bytes = pattern(pitch * lines);
    await stream.copyToDevice(image, bytes);
    const start = 5 * pitch + 7;
    const length = image.byteLength - start;
    const dst = new Uint8Array(pinned.buffer, 100, 400);
    // The last row ends with the memory: no whole pitch need follow it.
    const region = { src: image.slice(start, length), srcPitch: pitch, dst, dstPitch: 20, width: 12, height: 15 };
    stream.copy2d(region);
    await stream.done();
    expect(rows(dst, 20, 12, 15)).toEqual(rows(bytes, pitch, 12, 15, start));
    expect(new Uint8Array(pinned.buffer)[99]).toBe(0);
    expect(() => stream.copy2d({ ...region, height: 16 })).toThrow(
      `Expected at least ${15 * pitch + 12} bytes for src but received ${length} bytes`,
    );
    expect(() => stream.copy2d({ ...region, dst: dst.subarray(0, 291) })).toThrow(RangeError);
    stream.copy2d({ ...region, dst: dst.subarray(0, 292) });
    await stream.done();
  });

  it('copies columns of one image, and no rows that overlap', async () => {
    const { device, stream } = on;
    await using image = await device.alloc(64 * 8);
    await stream.copyToDevice(image, pattern(64 * 8));
    const columns = { dstPitch: 64, srcPitch: 64, width: 16, height: 7 };
    const at = (offset: number) => image.slice(offset, image.byteLength - offset);
    stream.copy2d({ dst: at(32), src: image, ...columns });
    const bytes = await read(stream, image);
    expect(rows(bytes, 64, 16, 7, 32)).toEqual(rows(pattern(64 * 8), 64, 16, 7));
    // Side by side without a gap, on both sides, and one row further down.
    for (const offset of [16, 48, 64 + 16]) stream.copy2d({ dst: at(offset), src: image, ...columns, height: 6 });
    for (const offset of [0, 1, 15, 49, 63, 64, 64 + 15]) {
      expect(() => stream.copy2d({ dst: at(offset), src: image, ...columns, height: 6 }), `${offset}`).toThrow(
        'Expected dst and src whose rows do not overlap',
      );
    }
    expect(() => stream.copy2d({ dst: at(32), dstPitch: 32, src: image, srcPitch: 64, width: 8, height: 2 })).toThrow(
      RangeError,
    );
    // One behind the other.
    stream.copy2d({ dst: at(256), dstPitch: 32, src: image, srcPitch: 64, width: 16, height: 4 });
    await stream.done();
  });

  it('checks what it is given before the driver sees it', async () => {
    const { device, stream } = on;
    await using dst = await device.alloc(256);
    await using src = await device.alloc(256);
    const good: Copy2d = { dst, dstPitch: 16, src, srcPitch: 16, width: 16, height: 16 };
    const copy = (change: object) => () => loose(stream).copy2d({ ...good, ...change });
    for (const change of [
      { width: 0 },
      { height: -1 },
      { width: 1.5 },
      { height: Number.NaN },
      { height: 2 ** 53 },
      { dstPitch: 15 },
      { srcPitch: 0 },
      { height: 17 },
      { srcPitch: 2 ** 52 },
      { width: 17, dstPitch: 17, srcPitch: 17 },
    ]) {
      expect(copy(change), JSON.stringify(change)).toThrow(RangeError);
    }
    for (const change of [
      { dst: undefined },
      { src: null },
      { src: new Uint8Array(256) },
      { src: new ArrayBuffer(256) },
      { width: '16' },
      { srcPitch: 16n },
    ]) {
      expect(copy(change), Object.keys(change)[0]).toThrow(TypeError);
    }
    expect(() => loose(stream).copy2d(undefined)).toThrow(TypeError);
    expect(copy({ srcPitch: 15 })).toThrow('Expected integer of at least width (16) for srcPitch but received 15');
    expect(copy({ src: new Uint8Array(256) })).toThrow(
      'Expected DeviceMemory, PinnedMemory or a view of pinned memory for src but received Uint8Array of type object',
    );
    const closed = await device.alloc(256);
    await closed.close();
    expect(copy({ src: closed })).toThrow(DisposedError);
    stream.copy2d(good);
    await stream.done();
  });
}
