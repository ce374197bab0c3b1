/** Checks of optional arguments, before anything is counted, queued or sent. */
import { outOfRange, wrongType } from './errors.js';

/** The longest that a timer of Node waits; it fires a longer one at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Checks an optional object, such as options. A list or a map is none: its content would be left out silently. */
export function checkOptional(name: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) throw wrongType(name, 'object', value);
}

/** The names of T's fields; the compiler sees to it that none is left out. */
export function fieldsOf<T>(fields: Readonly<Record<keyof Required<T>, true>>): ReadonlySet<string> {
  return new Set(Object.keys(fields));
}

/** As `checkOptional`, and refuses a field that is not `known`: a misspelt one would be left out silently. */
export function checkFields(name: string, value: unknown, known: ReadonlySet<string>): void {
  if (value === undefined) return;
  checkOptional(name, value);
  for (const field of Object.keys(value as object)) {
    if (!known.has(field)) throw wrongType(`a field of ${name}`, `one of ${[...known].join(', ')}`, field);
  }
}

/** Checks an optional count; returns it or the default. */
export function checkedInteger(name: string, value: unknown, minimum: 0 | 1, byDefault: number): number {
  if (value === undefined) return byDefault;
  const expected = minimum === 1 ? 'positive integer' : 'non-negative integer';
  if (typeof value !== 'number') throw wrongType(name, expected, value);
  if (!Number.isSafeInteger(value) || value < minimum) throw outOfRange(name, expected, value);
  return value;
}

/** Checks an optional duration in whole milliseconds; returns it or the default. */
export function checkedMs(name: string, value: unknown, minimum: 0 | 1, byDefault: number): number {
  const checked = checkedInteger(name, value, minimum, byDefault);
  if (checked > MAX_TIMER_MS) throw outOfRange(name, `integer of at most ${MAX_TIMER_MS}`, value);
  return checked;
}

/** Checks the name of a tensor: of another type it would be taken for one that the model does not have, or not be printed. */
export function checkName(value: unknown): void {
  if (typeof value !== 'string') throw wrongType('name', 'string', value);
}

/** Checks an optional boolean. */
export function checkBoolean(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') throw wrongType(name, 'boolean', value);
}

/** Checks an optional AbortSignal by its shape, so that one of another realm or a polyfill passes. */
export function checkSignal(name: string, value: unknown): void {
  if (value === undefined) return;
  const { aborted, addEventListener, removeEventListener } = Object(value) as Partial<AbortSignal>;
  const fits =
    typeof aborted === 'boolean' && typeof addEventListener === 'function' && typeof removeEventListener === 'function';
  if (!fits) throw wrongType(name, 'AbortSignal', value);
}
