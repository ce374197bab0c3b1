import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython, seeded } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import {
  type Datatype,
  decodeBytes,
  encodeBytes,
  fromBfloat16,
  fromFloat16,
  type TensorData,
  tensor,
  toBfloat16,
  toFloat16,
} from '../../src/index.js';

const TENSORS: readonly (readonly [Datatype, readonly number[], TensorData[Datatype]])[] = [
  ['BOOL', [2, 2], [true, false, false, true]],
  ['UINT8', [3], [0, 1, 255]],
  ['UINT16', [3], [0, 1, 65535]],
  ['UINT32', [3], [0, 1, 2 ** 32 - 1]],
  ['UINT64', [3], [0, 1, 2n ** 64n - 1n]],
  ['INT8', [3], [-128, 0, 127]],
  ['INT16', [3], [-32768, 0, 32767]],
  ['INT32', [3], [-(2 ** 31), 0, 2 ** 31 - 1]],
  ['INT64', [3], [-(2n ** 63n), -1, 2n ** 63n - 1n]],
  ['FP16', [4], [0.1, -65504, 1e-7, Number.NEGATIVE_INFINITY]],
  ['FP32', [2, 2], [0.1, -0, 3.4e38, Number.POSITIVE_INFINITY]],
  ['FP64', [2], [0.1, 1e-320]],
  ['BF16', [4], [0.1, -2, 1e-40, Number.POSITIVE_INFINITY]],
  ['BYTES', [3], ['', 'déjà vu', Uint8Array.of(0, 255, 128)]],
  ['FP32', [0, 4], []],
  ['BYTES', [0], []],
];

const base64 = (array: ArrayBufferView): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64');
const buffer = (text: string | undefined): ArrayBuffer => new Uint8Array(Buffer.from(text ?? '', 'base64')).buffer;

/** NaNs differ in their payloads, which nobody reads. */
function firstDifference(ours: Uint16Array, theirs: Uint16Array, infinity: number): object | undefined {
  const isNaNPattern = (bits: number | undefined) => ((bits ?? 0) & 0x7fff) > infinity;
  const index = ours.findIndex((bits, at) => bits !== theirs[at] && !(isNaNPattern(bits) && isNaNPattern(theirs[at])));
  return index < 0 ? undefined : { index, ours: ours[index], theirs: theirs[index] };
}

describeTier(
  'triton',
  'the bytes of tensors, and those of NVIDIA’s Python client',
  () => {
    const random = seeded(16);
    const words = Uint32Array.from({ length: 1_000_000 }, () => random.integer(0, 2 ** 32 - 1));
    const doubles = Float64Array.from({ length: 200_000 }, () => (random.next() - 0.5) * 2 ** random.integer(-30, 18));
    const floats = new Float32Array(words.buffer);
    const elements = encodeBytes(['x', '', 'déjà']);
    const plain = (value: unknown) =>
      typeof value === 'boolean'
        ? String(Number(value))
        : value instanceof Uint8Array || typeof value === 'string'
          ? Buffer.from(value as string).toString('base64')
          : Object.is(value, -0)
            ? '-0'
            : String(value);
    const request = {
      float32: base64(words),
      float64: base64(doubles),
      bytes: base64(elements),
      tensors: TENSORS.map(([datatype, shape, data]) => [datatype, shape, Array.from(data as number[], plain)]),
    };
    const script = fileURLToPath(new URL('../support/encodings.py', import.meta.url));
    const output = execFileSync(peersPython(), [script], { input: JSON.stringify(request), maxBuffer: 2 ** 26 });
    const python = JSON.parse(output.toString()) as {
      tensors: string[];
      elements: string[];
      serialized: string;
      float16: string;
      float16OfDoubles: string;
      bfloat16: string;
      fromFloat16: string;
      fromBfloat16: string;
    };

    test.each(TENSORS.map(([datatype, shape, data], index) => ({ datatype, shape, data, index })))(
      '$datatype $shape',
      ({ datatype, shape, data, index }) => {
        expect(base64(tensor(datatype, shape, data).data)).toBe(python.tensors[index]);
      },
    );

    test('BYTES elements, both ways', () => {
      expect(decodeBytes(elements, 3).map(base64)).toEqual(python.elements);
      expect(base64(encodeBytes(['a', '', Uint8Array.of(0xff, 0)]))).toBe(python.serialized);
    });

    test('a million float32 patterns as FP16 and BF16', () => {
      expect(firstDifference(toFloat16(floats), new Uint16Array(buffer(python.float16)), 0x7c00)).toBeUndefined();
      expect(firstDifference(toBfloat16(floats), new Uint16Array(buffer(python.bfloat16)), 0x7f80)).toBeUndefined();
    });

    test('doubles as FP16, in one rounding', () => {
      const theirs = new Uint16Array(buffer(python.float16OfDoubles));
      expect(firstDifference(toFloat16([...doubles]), theirs, 0x7c00)).toBeUndefined();
    });

    test('all FP16 and BF16 patterns as float32', () => {
      const every = Uint16Array.from({ length: 0x1_0000 }, (_, bits) => bits);
      for (const [ours, text] of [
        [fromFloat16(every), python.fromFloat16],
        [fromBfloat16(every), python.fromBfloat16],
      ] as const) {
        const theirs = new Float32Array(buffer(text));
        expect(ours.findIndex((value, bits) => !Object.is(value, theirs[bits]))).toBe(-1);
      }
    });
  },
  { needs: ['peers'] },
);
