import { integer, nonEmpty, typeError } from './check.js';

/**
 * What real servers answer by dying, by mapping the wrong memory, or by doing it to everyone: never sent. The errors are
 * those of wrong arguments, with a code of their own.
 */

type Unsafe<E extends Error> = E & { readonly code: 'TRITON_UNSAFE_REQUEST' };

/** `error` with the code `TRITON_UNSAFE_REQUEST`. */
export function unsafe<E extends Error>(error: E): Unsafe<E> {
  return Object.assign(error, { code: 'TRITON_UNSAFE_REQUEST' } as const);
}

/** The error for a request that could harm the server or other clients. */
export function unsafeRequest(message: string): Unsafe<TypeError> {
  return unsafe(new TypeError(message));
}

/** `check`, whose RangeError is that of something unsafe; its TypeError is one as others. */
function unsafeOutside<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof RangeError ? unsafe(error) : error;
  }
}

/** The name of a region: the server takes an empty one for "all regions", and registers it as one that nobody can name. */
export function checkRegionName(value: unknown, name: string): string {
  if (value === '') throw unsafe(typeError('non-empty string', name, value));
  return nonEmpty(value, name);
}

/** A size in shared memory: servers take a negative one for 2^64 less, past their own check of the region's end. */
export function checkByteLength(value: unknown, name: string): number {
  return unsafeOutside(() => integer(value, name, 1));
}

/** A place in a region, by the same rule. Sizes and places are exact doubles, so that their sum is far from 2^63. */
export function checkByteOffset(value: unknown, name: string): number {
  return unsafeOutside(() => integer(value, name, 0));
}
