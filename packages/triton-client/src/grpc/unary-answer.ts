import { status as Status, type StatusObject } from '@grpc/grpc-js';
import { codeOfText, saysRegionIsUnknown, withoutRequestId } from '../error-texts.js';
import { codeOfStatus, TritonError } from '../errors.js';
import { requestError } from '../request-error.js';
import type { InferResult, Settlement } from '../types/result.js';
import { decodeUnaryAnswer } from './decode.js';
import type { EncodedRequest } from './encode.js';
import { errorOfEnd } from './lane-errors.js';
import { neverLeft } from './not-sent.js';

/** What a unary call came to: an answer, or an error and what is known of the request's memory. */
type Verdict = { readonly result: InferResult } | { readonly error: TritonError; readonly settlement: Settlement };

/** Proxies give these for a server that may still be at work. */
const OF_PROXIES: ReadonlySet<number> = new Set([Status.UNAVAILABLE, Status.CANCELLED, Status.DEADLINE_EXCEEDED]);

export function judgeUnary(
  request: Pick<EncodedRequest, 'model' | 'id' | 'outputs'>,
  url: string,
  status: StatusObject,
  message: Buffer | undefined,
): Verdict {
  if (status.code === Status.OK && message !== undefined) {
    try {
      return { result: decodeUnaryAnswer(message, request.outputs) };
    } catch (error) {
      if (!(error instanceof TritonError)) throw error;
      // The call is over, and so is the server's work on it.
      return { error, settlement: 'answered' };
    }
  }
  if (neverLeft(status)) {
    return { error: errorOfEnd(request, url, status, true), settlement: 'not-sent' };
  }
  const text = withoutRequestId(status.details, request.id);
  if (!isOfServer(status, text)) {
    return { error: errorOfEnd(request, url, status), settlement: 'lost' };
  }
  const didNotRun = status.code === Status.NOT_FOUND && saysRegionIsUnknown(text);
  const error = requestError(request, codeOfStatus(status.code, text), text, {
    details: status.details,
    grpcStatus: status.code,
    didNotRun: didNotRun || undefined,
  });
  return { error, settlement: 'answered' };
}

/** True for the server's own word; a status that grpc-js makes up has no metadata, one of a proxy proves nothing. */
function isOfServer({ code, metadata }: StatusObject, text: string): boolean {
  if (code === Status.OK || Object.keys(metadata.getMap()).length === 0) return false;
  return !OF_PROXIES.has(code) || codeOfText(text) !== undefined;
}
