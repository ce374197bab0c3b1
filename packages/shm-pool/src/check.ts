/** Checks of optional arguments, before anything is counted, queued or sent. */
import { outOfRange, wrongType } from './errors.js';

/** The longest that a timer of Node waits; it fires a longer one at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Checks an optional object, such as options. */
export function checkOptional(name: string, value: unknown): void {
  if (value !== undefined && (typeof value !== 'object' || value === null)) throw wrongType(name, 'object', value);
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

/** Checks an optional AbortSignal by its shape, so that one of another realm or a polyfill passes. */
export function checkSignal(name: string, value: unknown): void {
  if (value === undefined) return;
  const { aborted, addEventListener, removeEventListener } = Object(value) as Partial<AbortSignal>;
  const fits =
    typeof aborted === 'boolean' && typeof addEventListener === 'function' && typeof removeEventListener === 'function';
  if (!fits) throw wrongType(name, 'AbortSignal', value);
}
