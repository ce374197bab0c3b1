import { enumNames, type Scalar } from './schema.js';

/** The ranges of the integer types, ends included. */
const RANGES: Readonly<Record<string, readonly [bigint, bigint]>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

export function isInteger(type: string): boolean {
  return Object.hasOwn(RANGES, type);
}

/** An integer as a message holds it: a bigint for 64 bits; undefined when it is out of the type's range. */
export function integerOf(type: string, value: bigint): number | bigint | undefined {
  const [least, most] = RANGES[type] ?? [0n, 0n];
  if (value < least || value > most) return undefined;
  return type.endsWith('64') ? value : Number(value);
}

/** A number as a field of `float` or `double` holds it. */
export function realOf(type: string, value: number): number {
  return type === 'float' ? Math.fround(value) : value;
}

/** The value that a field has when nothing gives it one. */
export function defaultOf(type: string): string | boolean | number | bigint {
  const names = enumNames(type);
  if (names !== undefined) return names[0] ?? '';
  switch (type as Scalar) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'int64':
    case 'uint64':
      return 0n;
    case 'int32':
    case 'uint32':
    case 'float':
    case 'double':
      return 0;
  }
}
