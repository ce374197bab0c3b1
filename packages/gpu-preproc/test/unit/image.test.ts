import { describe, expect, test } from 'vitest';
import { type ImageOptions, imageFrom, Preprocessor } from '../../src/index.js';
import { makeBlock, spec } from '../host-block.js';

const options: ImageOptions = { width: 4, height: 3, format: 'RGB8' };

describe('imageFrom', () => {
  test('borrows the memory, whatever holds it', () => {
    const memory = new Uint8Array(36).fill(7);
    const image = imageFrom(memory, options);
    memory[5] = 9;
    expect(image.data[5]).toBe(9);
    expect(image).toMatchObject({ width: 4, height: 3, format: 'RGB8', pitch: 12, decoder: undefined, closed: false });
    expect(imageFrom(new SharedArrayBuffer(36), options).data).toHaveLength(36);
    expect(imageFrom(Buffer.alloc(36), options).data.constructor).toBe(Uint8Array);
  });

  test('the last row needs no padding up to the pitch', () => {
    expect(imageFrom(new Uint8Array(2 * 16 + 12), { ...options, pitch: 16 }).pitch).toBe(16);
    expect(() => imageFrom(new Uint8Array(2 * 16 + 11), { ...options, pitch: 16 })).toThrow(
      new RangeError('Expected at least 44 bytes (4x3 RGB8) for memory.byteLength but received 43 of type number'),
    );
  });

  test.each([
    ['width', { width: 0 }, 'Expected positive integer for width but received 0 of type number'],
    ['height', { height: 1.5 }, 'Expected positive integer for height but received 1.5 of type number'],
    ['pitch', { pitch: 11 }, 'Expected at least 12 (4 pixels of RGB8) for pitch but received 11 of type number'],
  ])('a wrong %s is a RangeError', (_, wrong, message) => {
    expect(() => imageFrom(new Uint8Array(99), { ...options, ...wrong })).toThrow(new RangeError(message));
  });

  test('a misspelt option is a TypeError', () => {
    expect(() => imageFrom(new Uint8Array(99), { ...options, stride: 16 } as ImageOptions)).toThrow(
      new TypeError(
        'Expected one of width, height, format, pitch, planePitch, crop, matrix, range for a field of options but received "stride" of type string',
      ),
    );
  });

  test('a wrong type is a TypeError', () => {
    expect(() => imageFrom(new Uint8Array(99), { ...options, format: 'CMYK' as 'RGB8' })).toThrow(
      /^Expected one of "RGB8", "BGR8", .* for format but received "CMYK" of type string$/,
    );
    expect(() => imageFrom([1, 2] as unknown as Uint8Array, options)).toThrow(TypeError);
    expect(() => imageFrom(new Uint8Array(99), { ...options, width: '4' as unknown as number })).toThrow(TypeError);
  });

  test('close lets go of the pixels; twice is fine', async () => {
    const image = imageFrom(new Uint8Array(36), options);
    await image.close();
    image[Symbol.dispose]();
    expect(image.closed).toBe(true);
    expect(() => image.data).toThrow(expect.objectContaining({ code: 'ERR_DISPOSED' }));
  });

  test('a buffer that was sent to another thread since is refused', async () => {
    const sent = new ArrayBuffer(36);
    const image = imageFrom(sent, options);
    structuredClone(sent, { transfer: [sent] });
    expect(() => image.data).toThrow(TypeError);
    const target = spec([1, 3, 3, 4]);
    const pre = await Preprocessor.create({ target });
    await expect(pre.run(image, makeBlock(target))).rejects.toThrow(/^The image's buffer was detached/);
  });
});
