/** Checks of arguments. They throw TypeError or RangeError and say what was expected and what came. */

function received(value: unknown): string {
  const shown =
    typeof value === 'string' ? `'${value}'` : Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
  return `${shown} of type ${typeof value}`;
}

export function typeError(expected: string, name: string, value: unknown): TypeError {
  return new TypeError(`Expected ${expected} for ${name} but received ${received(value)}`);
}

export function rangeError(expected: string, name: string, value: unknown): RangeError {
  return new RangeError(`Expected ${expected} for ${name} but received ${received(value)}`);
}

/** A whole number of at least `minimum`, exact in a double. */
export function integer(value: unknown, name: string, minimum: number): number {
  const expected =
    minimum === 0 ? 'non-negative integer' : minimum === 1 ? 'positive integer' : `integer of at least ${minimum}`;
  if (typeof value !== 'number') throw typeError(expected, name, value);
  if (!Number.isSafeInteger(value) || value < minimum) throw rangeError(expected, name, value);
  return value;
}

/** A time limit in milliseconds that a Node timer can hold. */
export function milliseconds(value: unknown, name: string): number {
  const checked = integer(value, name, 0);
  if (checked > 0x7fff_ffff) throw rangeError('at most 2147483647 milliseconds', name, value);
  return checked;
}

/** Text that is not empty: Triton takes an empty name for "all". */
export function nonEmpty(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '') throw typeError('non-empty string', name, value);
  return value;
}

/** An AbortSignal by its shape, so that one of another realm or a polyfill passes. */
export function abortSignal(value: unknown, name: string): void {
  const { aborted, addEventListener, removeEventListener } = Object(value) as Partial<AbortSignal>;
  const fits = typeof aborted === 'boolean' && [addEventListener, removeEventListener].every(isFunction);
  if (!fits) throw typeError('AbortSignal', name, value);
}

const isFunction = (value: unknown): boolean => typeof value === 'function';
