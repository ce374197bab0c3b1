import { exactNumber, unreadable } from './answers.js';

/** Readers of the server's JSON: each gives what it is asked for, or throws `TRITON_MALFORMED_RESPONSE`. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function objectOf(method: string, value: unknown, what: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw unreadable(method, `${what} is no object`);
}

/** Nothing is an empty list. */
export function listOf(method: string, value: unknown, what: string): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw unreadable(method, `${what} is no list`);
}

/** Nothing is an empty text. */
export function textOf(method: string, value: unknown, what: string): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  throw unreadable(method, `${what} is no text`);
}

/** Nothing is 0. */
export function countOf(method: string, value: unknown, what: string): number {
  return exactNumber(method, what, bigintOf(method, value, what));
}

/** Nothing is 0. */
export function bigintOf(method: string, value: unknown, what: string): bigint {
  if (value === undefined) return 0n;
  if (typeof value === 'bigint' || Number.isInteger(value)) return BigInt(value as bigint | number);
  throw unreadable(method, `${what} is no whole number`);
}

export function mapValues<T>(object: JsonObject, to: (value: unknown, key: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, to(value, key)]));
}
