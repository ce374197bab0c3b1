import { type Datatype, elementByteLength } from '../../../src/datatype.js';
import type { InferTensorContents } from '../../../src/grpc/gen/grpc_service.js';
import type { GeneratedModel, GeneratedTensor } from './models.js';
import type { Random } from './random.js';

/** A tensor that fits its model, in no form yet. */
export interface TensorValue {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Integers and BOOL as bigint, FP16 as the bits. */
  readonly elements: readonly (bigint | number | Buffer)[];
}

/** Inputs that fit a model: a batch size that all have, now and then without those that are optional. */
export function fittingInputs(random: Random, { kind, batch, inputs }: GeneratedModel): TensorValue[] {
  // A sequence takes one at a time.
  const most = kind === 'sequence' && random.chance(0.9) ? 1 : Math.min(8, Math.max(1, batch));
  const items = random.chance(0.05) ? 0 : random.integer(1, most);
  const given = inputs.filter(({ optional }) => !optional || random.chance(0.6));
  return given.map((input) => fittingTensor(random, input, batch > 0 ? [items] : []));
}

function fittingTensor(
  random: Random,
  { name, datatype, dims }: GeneratedTensor,
  lead: readonly number[],
): TensorValue {
  const shape = [...lead, ...dims.map((size) => (size === -1 ? random.pick([1, 1, 2, 3, 4, 0]) : size))];
  const count = shape.reduce((product, size) => product * size, 1);
  return { name, datatype, shape, elements: random.times(count, () => element(random, datatype)) };
}

function element(random: Random, datatype: Datatype): bigint | number | Buffer {
  if (datatype === 'BYTES') {
    return random.chance(0.5)
      ? Buffer.from(random.pick(['', 'a', 'é', '"\\', 'a longer text with blanks', '\n\t\u0001']))
      : Buffer.from(random.times(random.integer(0, 6), () => random.integer(32, 126)));
  }
  if (datatype === 'BOOL') return BigInt(random.integer(0, 1));
  if (datatype === 'FP32' || datatype === 'FP64') {
    const value = random.pick([0, -0, 1, -1.5, 0.1, 3e10, -2.5e-7, 123456.789, 1e30, random.integer(-1000, 1000) / 7]);
    return datatype === 'FP32' ? Math.fround(value) : value;
  }
  const bits = 8 * (elementByteLength(datatype) as number);
  const word = (BigInt(random.integer(0, 2 ** 31)) << 33n) | BigInt(random.integer(0, 2 ** 31));
  const number = BigInt.asUintN(bits, random.chance(0.5) ? word : BigInt(random.integer(-5, 5)));
  // Ones that no rounding touches, so that all bits are known.
  if (datatype === 'FP16') return number & 0x7bffn;
  return datatype.startsWith('U') ? number : BigInt.asIntN(bits, number);
}

export function rawBytes({ datatype, elements }: TensorValue): Buffer {
  if (datatype === 'BYTES') {
    return Buffer.concat(
      (elements as Buffer[]).flatMap((bytes) => {
        const length = Buffer.alloc(4);
        length.writeUInt32LE(bytes.byteLength);
        return [length, bytes];
      }),
    );
  }
  const size = elementByteLength(datatype) as number;
  const bytes = Buffer.alloc(size * elements.length);
  elements.forEach((value, index) => {
    if (datatype === 'FP32') bytes.writeFloatLE(value as number, index * size);
    else if (datatype === 'FP64') bytes.writeDoubleLE(value as number, index * size);
    else {
      const long = Buffer.alloc(8);
      long.writeBigUInt64LE(BigInt.asUintN(64, value as bigint));
      long.copy(bytes, index * size, 0, size);
    }
  });
  return bytes;
}

export const NO_CONTENTS: InferTensorContents = {
  bool_contents: [],
  int_contents: [],
  int64_contents: [],
  uint_contents: [],
  uint64_contents: [],
  fp32_contents: [],
  fp64_contents: [],
  bytes_contents: [],
};

/** As typed values, which FP16 has none of. */
export function contents({ datatype, elements }: TensorValue): InferTensorContents | undefined {
  const numbers = () => (elements as (bigint | number)[]).map(Number);
  const longs = () => elements as bigint[];
  switch (datatype) {
    case 'BOOL':
      return { ...NO_CONTENTS, bool_contents: numbers().map(Boolean) };
    case 'INT8':
    case 'INT16':
    case 'INT32':
      return { ...NO_CONTENTS, int_contents: numbers() };
    case 'INT64':
      return { ...NO_CONTENTS, int64_contents: longs() };
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
      return { ...NO_CONTENTS, uint_contents: numbers() };
    case 'UINT64':
      return { ...NO_CONTENTS, uint64_contents: longs() };
    case 'FP32':
      return { ...NO_CONTENTS, fp32_contents: numbers() };
    case 'FP64':
      return { ...NO_CONTENTS, fp64_contents: numbers() };
    case 'BYTES':
      return { ...NO_CONTENTS, bytes_contents: elements as Buffer[] };
    case 'FP16':
    case 'BF16':
      return undefined;
  }
}

/** The elements as texts of JSON. */
export function jsonElements({ datatype, elements }: TensorValue): string[] {
  return elements.map((value) => {
    if (typeof value === 'object') return JSON.stringify(value.toString());
    if (datatype === 'BOOL') return value === 1n ? 'true' : 'false';
    return Object.is(value, -0) ? '-0.0' : String(value);
  });
}
