import { describe, expect, it } from 'vitest';
import { convert } from '../../src/cpu/convert.js';
import { inTurns } from '../../src/cpu/turns.js';
import { geometriesOf, tensorBits } from '../../src/reference/tensor.js';
import { bytesOf, CASES, elementsOf, expected, picture, recipe } from '../cpu-cases.js';

describe('convert into plain memory', () => {
  it.each(CASES)('writes what the definition does: %s', async (_, image, of) => {
    const elements = tensorBits(of.datatype, elementsOf(image, of)).fill(0x5a);
    expect(await convert(image, of, { elements })).toEqual(geometriesOf(image, of));
    expect(bytesOf(elements).equals(bytesOf(expected(image, of)))).toBe(true);
  });

  it('lets the event loop run meanwhile', async () => {
    const image = picture('RGB8', 900, 700);
    let rounds = 0;
    const count = (): void => {
      rounds += 1;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    await convert(image, recipe, { elements: tensorBits('FP32', elementsOf(image, recipe)) });
    clearImmediate(immediate);
    expect(rounds).toBeGreaterThan(0);
  });

  it('ends when the pixels are sent to another thread meanwhile', async () => {
    const image = picture('RGB8', 900, 700);
    const data = image.data.slice();
    const converted = convert({ ...image, data }, recipe, { elements: tensorBits('FP32', elementsOf(image, recipe)) });
    structuredClone(data.buffer, { transfer: [data.buffer] });
    await expect(converted).rejects.toThrow(/^The image's buffer was detached/);
  });

  it('takes 16-bit samples at an odd address', async () => {
    const image = picture('GRAY16', 1300, 1000);
    const data = new Uint8Array(image.data.byteLength + 1).subarray(1);
    data.set(image.data);
    const elements = tensorBits('FP32', elementsOf(image, recipe));
    await convert({ ...image, data }, recipe, { elements });
    expect(bytesOf(elements).equals(bytesOf(expected(image, recipe)))).toBe(true);
  });

  it('throws what the definition throws, and writes nothing', async () => {
    const elements = new Int32Array(12).fill(7);
    const image = picture('RGB8', 4, 4);
    await expect(convert(image, recipe, { elements })).rejects.toThrow(RangeError);
    const none = { ...recipe, resize: 'none', width: 2, height: 2 } as const;
    await expect(convert(image, none, { elements })).rejects.toThrow('2x2 pixels');
    expect(elements.every((bits) => bits === 7)).toBe(true);
  });
});

describe('turns', () => {
  it('are shared: two tasks advance side by side, and one that fails ends alone', async () => {
    const order: string[] = [];
    const busy = (name: string, steps: number) => () => {
      order.push(name);
      const end = performance.now() + 9;
      while (performance.now() < end);
      return order.filter((each) => each === name).length === steps;
    };
    const failing = inTurns(() => {
      throw new RangeError('broken');
    });
    const first = inTurns(busy('a', 3));
    const second = inTurns(busy('b', 2));
    await expect(failing).rejects.toThrow('broken');
    await Promise.all([first, second]);
    expect(order).toEqual(['a', 'b', 'a', 'b', 'a']);
  });

  it('begin at once when nothing else does', () => {
    let steps = 0;
    return new Promise<void>((resolve) => {
      setImmediate(() =>
        setImmediate(() => {
          void inTurns(() => ++steps === 1).then(resolve);
          expect(steps).toBe(1);
        }),
      );
    });
  });
});
