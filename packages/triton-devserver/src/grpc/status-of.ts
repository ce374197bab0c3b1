import { status } from '@grpc/grpc-js';
import { ServerError, textOf } from '../status.js';

/** A header of more than 64 KiB can't be sent, and in it each byte of a text may become three. */
const LONGEST_DETAILS = 16 * 1024;

/** How a call ends with an error. Long texts are cut off: a real server's clients refuse them. */
export function statusOf(error: unknown): { code: number; details: string } {
  const text = textOf(error);
  const details = text.length <= LONGEST_DETAILS ? text : textOf(`${text.slice(0, LONGEST_DETAILS)}…`);
  return { code: error instanceof ServerError ? error.grpcStatus : status.INTERNAL, details };
}
