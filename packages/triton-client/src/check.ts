/** Checks of arguments. They throw TypeError or RangeError and say what was expected and what came. */

function received(value: unknown): string {
  return `${shown(value)} of type ${typeof value}`;
}

const MAX_TEXT = 200;
const MAX_SHOWN = 8;

/** Turning a value into text may run its code, and fail. */
function shown(value: unknown): string {
  try {
    if (typeof value === 'string') return `'${value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value}'`;
    if (Array.isArray(value)) return `[${list(value.slice(0, MAX_SHOWN).map(String), value.length)}]`;
    if (typeof value === 'function') return `function ${value.name}`;
    return typeof value === 'object' && value !== null ? shownObject(value) : String(value);
  } catch {
    return 'a value';
  }
}

/** No values: they may be long, or secret. */
function shownObject(value: object): string {
  const { name = 'Object' } = (value.constructor ?? {}) as { readonly name?: string };
  if (ArrayBuffer.isView(value)) return `${name}(${(value as Uint8Array).length ?? value.byteLength})`;
  const keys = Object.keys(value);
  if (keys.length === 0) return name === 'Object' ? '{}' : name;
  const fields = `{ ${list(keys.slice(0, MAX_SHOWN), keys.length)} }`;
  return name === 'Object' ? fields : `${name} ${fields}`;
}

function list(first: readonly string[], length: number): string {
  return [...first, ...(length > first.length ? [`… ${length - first.length} more`] : [])].join(', ');
}

export function typeError(expected: string, name: string, value: unknown): TypeError {
  return new TypeError(`Expected ${expected} for ${name} but received ${received(value)}`);
}

export function rangeError(expected: string, name: string, value: unknown): RangeError {
  return new RangeError(`Expected ${expected} for ${name} but received ${received(value)}`);
}

/** An object with fields; an array is none. */
export function object<T>(value: T, name: string): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw typeError('object', name, value);
  return value;
}

/** The names of T's fields; the compiler sees to it that none is left out. */
export function fieldsOf<T>(fields: Readonly<Record<keyof Required<T>, true>>): ReadonlySet<string> {
  return new Set(Object.keys(fields));
}

/** @throws TypeError for a field that `object` may not have: a misspelt one would be left out silently */
export function onlyFields(object: object, name: string, known: ReadonlySet<string>): void {
  for (const field of Object.keys(object)) {
    if (!known.has(field)) throw typeError(`one of ${[...known].join(', ')}`, `a field of ${name}`, field);
  }
}

/** A whole number of at least `minimum`, exact in a double. */
export function integer(value: unknown, name: string, minimum: number): number {
  const expected =
    minimum === 0 ? 'non-negative integer' : minimum === 1 ? 'positive integer' : `integer of at least ${minimum}`;
  if (typeof value !== 'number') throw typeError(expected, name, value);
  if (!Number.isSafeInteger(value) || value < minimum) throw rangeError(expected, name, value);
  return value;
}

/** An element of an array of numbers. */
export function numberAt(value: unknown, index: number): number {
  if (typeof value !== 'number') throw typeError('number', `data[${index}]`, value);
  return value;
}

export function boolean(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw typeError('boolean', name, value);
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
