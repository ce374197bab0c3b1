import { STATUS_CODES } from 'node:http';
import { ServerError, textOf } from '../status.js';
import { type Answer, answerToJson, type ByteText, textToJson } from './json-writer.js';

/**
 * An answer over HTTP. Without a content type it is the server's default, `text/plain`, which then comes last, as on a real
 * server (libevhtp adds it).
 */
export interface Reply {
  readonly status: number;
  readonly contentType?: string;
  /** Between the content type and the length. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body: readonly Uint8Array[];
}

export const JSON_TYPE = 'application/json';

/** Where the server's words are not the usual ones. */
const REASONS: Readonly<Record<number, string>> = { 405: 'Not Allowed' };

export function reasonOf(status: number): string {
  return REASONS[status] ?? STATUS_CODES[status] ?? '';
}

export function bytesOf(text: ByteText): Uint8Array {
  return Buffer.from(text, 'latin1');
}

export function jsonReply(answer: Answer): Reply {
  return { status: 200, contentType: JSON_TYPE, body: [bytesOf(answerToJson(answer))] };
}

/** Done, with nothing to say. */
export const DONE: Reply = { status: 200, contentType: JSON_TYPE, body: [] };
export const HEALTHY: Reply = { status: 200, body: [] };

export function errorText(error: unknown): ByteText {
  return `{"error":${textToJson(textOf(error))}}`;
}

function statusOf(error: unknown): number {
  return error instanceof ServerError ? error.httpStatus : 500;
}

/** An error of most handlers. */
export function errorReply(error: unknown): Reply {
  return { ...plainErrorReply(error), contentType: JSON_TYPE };
}

/** An error of which the real server does not say that it is JSON, though it is. */
export function plainErrorReply(error: unknown): Reply {
  return { status: statusOf(error), body: [bytesOf(errorText(error))] };
}

export function plainReply(status: number, text: string): Reply {
  return { status, body: [bytesOf(errorText(text))] };
}

export const NOT_FOUND: Reply = plainReply(404, 'Not Found');
