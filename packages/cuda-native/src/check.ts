import { buffer } from './builtins.js';

/** Argument checks shared by the classes. The wording is sharp's. */

/** Longer strings are cut: the message is to be read. */
const LONGEST = 80;

/** The name of its class. Looking for it may run code of the object, which may throw. */
function className(value: object): string {
  try {
    const name: unknown = value.constructor?.name;
    return typeof name === 'string' && name !== '' ? name : 'object';
  } catch {
    return 'object';
  }
}

function received(value: unknown): string {
  if (typeof value === 'object' && value !== null) return `${className(value)} of type object`;
  if (typeof value === 'function') return `${className(value)} of type function`;
  const text = String(value);
  return `${text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text} of type ${typeof value}`;
}

/** The error for an argument of the wrong kind (TypeError) or outside what is allowed (RangeError). */
export function invalid(
  name: string,
  expected: string,
  value: unknown,
  ErrorClass = TypeError,
): TypeError | RangeError {
  return new ErrorClass(`Expected ${expected} for ${name} but received ${received(value)}`);
}

/** Checks options before they are taken apart; the default stands for undefined. */
export function checkOptions(value: unknown): void {
  if (typeof value !== 'object' || value === null) throw invalid('options', 'object', value);
}

export function checkPositiveInteger(name: string, value: unknown): asserts value is number {
  if (typeof value !== 'number') throw invalid(name, 'positive integer', value);
  if (!Number.isSafeInteger(value) || value <= 0) throw invalid(name, 'positive integer', value, RangeError);
}

export function checkNonNegativeInteger(name: string, value: unknown): asserts value is number {
  if (typeof value !== 'number') throw invalid(name, 'integer of at least 0', value);
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(name, 'integer of at least 0', value, RangeError);
}

export function checkInteger(name: string, value: unknown, low: number, high: number): asserts value is number {
  const expected = `integer between ${low} and ${high}`;
  if (typeof value !== 'number') throw invalid(name, expected, value);
  if (!Number.isInteger(value) || value < low || value > high) throw invalid(name, expected, value, RangeError);
}

/** Checks that `[byteOffset, byteOffset + byteLength)` lies inside `available` bytes. */
export function checkRange(byteOffset: unknown, byteLength: unknown, available: number): void {
  checkNonNegativeInteger('byteOffset', byteOffset);
  checkPositiveInteger('byteLength', byteLength);
  if (byteOffset > available) {
    throw invalid('byteOffset', `integer between 0 and ${available}`, byteOffset, RangeError);
  }
  if (byteLength > available - byteOffset) {
    throw invalid('byteLength', `integer between 1 and ${available - byteOffset}`, byteLength, RangeError);
  }
}

/**
 * Checks that one ArrayBuffer can show `byteLength` bytes: 4 GiB at most on Node 20.
 *
 * @throws RangeError with the code `ERR_BUFFER_TOO_LARGE`
 */
export function checkBufferLength(byteLength: number, advice: string): void {
  if (byteLength <= buffer.constants.MAX_LENGTH) return;
  const error = new RangeError(
    `Expected at most ${buffer.constants.MAX_LENGTH} bytes for one ArrayBuffer but received ${byteLength} bytes: ${advice}`,
  );
  throw Object.assign(error, { code: 'ERR_BUFFER_TOO_LARGE' });
}
