import { status as Status, type StatusObject } from '@grpc/grpc-js';
import { codeOfText, withoutRequestId } from '../error-texts.js';
import { codeOfStatus, type TritonError } from '../errors.js';
import type { RequestNames } from '../request.js';
import { requestError } from '../request-error.js';

/** The `error_message` of a stream as the error that the caller sees. */
export function errorOfLaneText(details: string, request: RequestNames, didNotRun = false): TritonError {
  const text = withoutRequestId(details, request.id);
  const fields = { details, didNotRun: didNotRun || undefined };
  return requestError(request, codeOfText(text) ?? 'TRITON_UNKNOWN', text, fields);
}

/** The end of a stream with a request outstanding; status OK is no answer either. */
export function errorOfEnd(request: RequestNames, url: string, status: StatusObject, didNotRun = false): TritonError {
  const fields = { details: status.details, grpcStatus: status.code, didNotRun: didNotRun || undefined };
  if (didNotRun && status.code === Status.UNAVAILABLE) {
    const text = `Triton at ${url} did not take the request: ${status.details}`;
    return requestError(request, 'TRITON_UNAVAILABLE', text, fields);
  }
  if (status.code === Status.OK) {
    const text = `Triton at ${url} ended the stream without an answer`;
    return requestError(request, 'TRITON_CONNECTION_LOST', text, fields);
  }
  const isLost =
    codeOfStatus(status.code, status.details) === 'TRITON_CONNECTION_LOST' ||
    (status.code === Status.UNAVAILABLE && !status.details.includes('restricted'));
  if (isLost) {
    const text = `the connection to Triton at ${url} was lost before the answer: ${status.details}`;
    return requestError(request, 'TRITON_CONNECTION_LOST', text, fields);
  }
  return requestError(request, codeOfStatus(status.code, status.details), status.details, fields);
}

/** An answer that is not the last one of its request. */
export function errorOfDecoupled(request: RequestNames): TritonError {
  const text =
    'the model is decoupled: it answers a request any number of times, and infer() takes one answer: use stream()';
  return requestError(request, 'TRITON_UNIMPLEMENTED', text);
}

/** The text of a model that is not loaded, and of every model while the server is leaving. */
export function saysModelIsGone(error: TritonError): boolean {
  return error.code === 'TRITON_NOT_FOUND' && error.details.includes('has no available versions');
}
