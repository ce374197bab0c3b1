import type { Crop } from './reference/geometry.js';

/** Argument checks. Their wording is one for all packages: "Expected … for … but received … of type …". */

const shown = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (typeof value === 'object' && value !== null) return value.constructor?.name ?? 'an object';
  return String(value);
};

const message = (expected: string, name: string, value: unknown): string =>
  `Expected ${expected} for ${name} but received ${shown(value)} of type ${value === null ? 'null' : typeof value}`;

/** The error of an argument of the wrong type. */
export const wrongType = (expected: string, name: string, value: unknown): TypeError =>
  new TypeError(message(expected, name, value));

/** The error of an argument of the right type whose value is not allowed. */
export const outOfRange = (expected: string, name: string, value: unknown): RangeError =>
  new RangeError(message(expected, name, value));

/** The names of T's fields; the compiler sees to it that none is left out. */
export function fieldsOf<T>(fields: Readonly<Record<keyof Required<T>, true>>): ReadonlySet<string> {
  return new Set(Object.keys(fields));
}

/** Checks an object of options, and refuses a field that is not `known`: a misspelt one would be left out silently. */
export function checkFields(name: string, value: unknown, known: ReadonlySet<string>): void {
  if (typeof value !== 'object' || value === null) throw wrongType('object', name, value);
  for (const field of Object.keys(value)) {
    if (!known.has(field)) throw wrongType(`one of ${[...known].join(', ')}`, `a field of ${name}`, field);
  }
}

export function checkPositiveInteger(name: string, value: unknown): number {
  if (typeof value !== 'number') throw wrongType('positive integer', name, value);
  if (!Number.isSafeInteger(value) || value < 1) throw outOfRange('positive integer', name, value);
  return value;
}

export function checkBoolean(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw wrongType('boolean', name, value);
  return value;
}

export function checkOneOf<const T extends string>(name: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw wrongType(`one of ${allowed.map(shown).join(', ')}`, name, value);
  return found;
}

/** A part of a picture of the given size, in whole pixels. */
export function checkCrop(crop: Crop, picture: { readonly width: number; readonly height: number }): Crop {
  if (typeof crop !== 'object' || crop === null) throw wrongType('{ x, y, width, height }', 'crop', crop);
  for (const [from, size] of [
    ['x', 'width'],
    ['y', 'height'],
  ] as const) {
    checkPositiveInteger(`crop.${size}`, crop[size]);
    if (typeof crop[from] !== 'number') throw wrongType('integer', `crop.${from}`, crop[from]);
    const most = picture[size] - crop[size];
    if (most < 0) throw outOfRange(`at most ${picture[size]}`, `crop.${size}`, crop[size]);
    if (!Number.isInteger(crop[from]) || crop[from] < 0 || crop[from] > most) {
      throw outOfRange(`integer from 0 to ${most}`, `crop.${from}`, crop[from]);
    }
  }
  return { x: crop.x, y: crop.y, width: crop.width, height: crop.height };
}

/** One value for each of the three channels: a number stands for all three. */
export function checkTriple(
  name: string,
  value: unknown,
  expected: string,
  allowed: (value: number) => boolean,
): [number, number, number] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value, value, value];
  const [a, b, c] = values;
  if (values.length !== 3 || typeof a !== 'number' || typeof b !== 'number' || typeof c !== 'number') {
    throw wrongType(`${expected} or three of them`, name, value);
  }
  if (!allowed(a) || !allowed(b) || !allowed(c)) throw outOfRange(`${expected} or three of them`, name, value);
  return [a, b, c];
}
