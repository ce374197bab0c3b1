import { numberAt, rangeError, typeError } from './check.js';
import { toBfloat16, toFloat16 } from './float16.js';
import type { Datatype } from './types/request.js';

type Values = readonly unknown[];

const whole = (bits: number, signed: boolean) => {
  const [low, high] = signed ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
  return (value: unknown, index: number): number => {
    const number = numberAt(value, index);
    if (Number.isInteger(number) && number >= low && number <= high) return number;
    throw rangeError(`a whole number from ${low} to ${high}`, `data[${index}]`, value);
  };
};

/** A number counts while it is exact. */
const big = (low: bigint, high: bigint) => (value: unknown, index: number) => {
  if (typeof value !== 'bigint' && typeof value !== 'number') {
    throw typeError('bigint or number', `data[${index}]`, value);
  }
  const exact = typeof value === 'bigint' ? value : Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (exact !== undefined && exact >= low && exact <= high) return exact;
  throw rangeError(`a whole number from ${low} to ${high}, beyond 2^53 a bigint,`, `data[${index}]`, value);
};

function truth(value: unknown, index: number): number {
  if (typeof value !== 'boolean') throw typeError('boolean', `data[${index}]`, value);
  return value ? 1 : 0;
}

const ARRAYS: Readonly<Record<Exclude<Datatype, 'BYTES'>, (values: Values) => ArrayBufferView>> = {
  BOOL: (values) => Uint8Array.from(values, truth),
  UINT8: (values) => Uint8Array.from(values, whole(8, false)),
  UINT16: (values) => Uint16Array.from(values, whole(16, false)),
  UINT32: (values) => Uint32Array.from(values, whole(32, false)),
  UINT64: (values) => BigUint64Array.from(values, big(0n, 2n ** 64n - 1n)),
  INT8: (values) => Int8Array.from(values, whole(8, true)),
  INT16: (values) => Int16Array.from(values, whole(16, true)),
  INT32: (values) => Int32Array.from(values, whole(32, true)),
  INT64: (values) => BigInt64Array.from(values, big(-(2n ** 63n), 2n ** 63n - 1n)),
  FP16: (values) => toFloat16(values as readonly number[]),
  BF16: (values) => toBfloat16(values as readonly number[]),
  FP32: (values) => Float32Array.from(values, numberAt),
  FP64: (values) => Float64Array.from(values, numberAt),
};

/**
 * An ordinary array as the datatype's typed array. Floats are rounded to the nearest; nothing else is changed in value.
 *
 * @throws TypeError for an element of another kind
 * @throws RangeError for a number that the datatype does not hold
 */
export function arrayOf(datatype: Exclude<Datatype, 'BYTES'>, values: Values): ArrayBufferView {
  return ARRAYS[datatype](values);
}
