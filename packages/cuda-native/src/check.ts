/** Argument checks shared by the classes. The wording is sharp's. */

function received(value: unknown): string {
  if (typeof value === 'object' && value !== null) return `${value.constructor?.name ?? 'object'} of type object`;
  return `${String(value)} of type ${typeof value}`;
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
