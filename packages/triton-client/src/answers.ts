import { TritonError } from './errors.js';

/** What the control calls' answers are held to. */

/** The error for an answer that says what no server should. */
export function unreadable(method: string, details: string): TritonError {
  return new TritonError(`The answer to ${method} cannot be read: ${details}`, {
    code: 'TRITON_MALFORMED_RESPONSE',
    method,
    details,
  });
}

/**
 * A 64-bit count of the protocol as a number.
 *
 * @throws TritonError `TRITON_MALFORMED_RESPONSE` where a number cannot hold it
 */
export function exactNumber(method: string, name: string, value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw unreadable(method, `${name} is ${value}`);
  return number;
}
