import { status as Status, type StatusObject } from '@grpc/grpc-js';
import { codeOfStatus, partsOfText, TritonError, type TritonErrorCode } from './errors.js';

/** What an error says of the request it belongs to. */
interface RequestNames {
  readonly model: string;
  readonly id: string;
}

/**
 * On a stream Triton sends a failure's text and no code. These are the codes that a unary call gets with the same
 * text, as seen on servers 2.48 and 2.51; each pattern is anchored in the server's own words, so that text a model
 * raises is not mistaken for them. The first match decides.
 */
const TEXTS: readonly (readonly [RegExp, TritonErrorCode])[] = [
  [/^Unable to find (?:system |cuda )?shared memory region: '/, 'TRITON_NOT_FOUND'],
  [/^Request for unknown model: /, 'TRITON_NOT_FOUND'],
  [/^(?:Exceeds maximum queue size|Request timeout expired|Server not ready|Server exiting)/, 'TRITON_UNAVAILABLE'],
  [/^This protocol is restricted, expecting header /, 'TRITON_UNAVAILABLE'],
  [/^GRPC server is shutting down/, 'TRITON_UNAVAILABLE'],
  [/^Client shared memory is disabled/, 'TRITON_UNIMPLEMENTED'],
  [/doesn't support models with decoupled transaction policy$/, 'TRITON_UNIMPLEMENTED'],
  [/^Shared memory feature is currently not supported on /, 'TRITON_UNIMPLEMENTED'],
  [/^string correlation ID cannot be longer than /, 'TRITON_UNIMPLEMENTED'],
  [/^Invalid offset (?:\+ byte size )?for shared memory region: '/, 'TRITON_INVALID_ARGUMENT'],
  [/^Integer overflow detected: byte_size /, 'TRITON_INVALID_ARGUMENT'],
  [/^(?:The )?'?shared_memory_(?:byte_size|offset|region)'? (?:must|can ?not)/, 'TRITON_INVALID_ARGUMENT'],
  [/^invalid value (?:type )?for '/, 'TRITON_INVALID_ARGUMENT'],
  [/^parameter keys starting with 'triton_' are reserved/, 'TRITON_INVALID_ARGUMENT'],
  [/^failed to get model version from specified version string /, 'TRITON_INVALID_ARGUMENT'],
  [/^invalid model version specified /, 'TRITON_INVALID_ARGUMENT'],
  [/^(?:input|output) '.*' (?:already exists in request|batch size does not match)/, 'TRITON_INVALID_ARGUMENT'],
  [/^input byte size mismatch for input '/, 'TRITON_INVALID_ARGUMENT'],
  [
    /^unexpected (?:inference (?:input|output)|shape for input|explicit tensor data|'content')/,
    'TRITON_INVALID_ARGUMENT',
  ],
  [/^unexpected (?:number of string elements|total byte size)/, 'TRITON_INVALID_ARGUMENT'],
  [/^incomplete string (?:data|length indicator) /, 'TRITON_INVALID_ARGUMENT'],
  [/^expected (?:number of inputs|\d+ (?:inputs but got|string elements))/, 'TRITON_INVALID_ARGUMENT'],
  [/^inference input '.*' data-type is '/, 'TRITON_INVALID_ARGUMENT'],
  [/^inference request (?:batch-size must be|for sequence |to model )/, 'TRITON_INVALID_ARGUMENT'],
  [/^All input dimensions should be specified /, 'TRITON_INVALID_ARGUMENT'],
  [/^unable to find data for input tensor '/, 'TRITON_INVALID_ARGUMENT'],
  [/^contents field must not be specified when using raw_input_contents /, 'TRITON_INVALID_ARGUMENT'],
  [/^(?:class result not available|output can't set both) /, 'TRITON_INVALID_ARGUMENT'],
  [/^Response has byte size \d+ which exceeds gRPC's byte size limit/, 'TRITON_INVALID_ARGUMENT'],
  [/^shared memory size specified with the request for output '/, 'TRITON_INTERNAL'],
  [/^Failed to process the request\(s\) for model '/, 'TRITON_INTERNAL'],
  [/^Stub process '.*' is not healthy/, 'TRITON_INTERNAL'],
];

const REQUEST_ID = /^\[request id: .*?\] /;

/** An error of one inference request. */
export function requestError(
  request: RequestNames,
  code: TritonErrorCode,
  text: string,
  fields: { readonly details?: string; readonly grpcStatus?: number } = {},
): TritonError {
  return new TritonError(`ModelInfer of '${request.model}': ${text}`, {
    code,
    method: 'ModelInfer',
    details: fields.details ?? text,
    grpcStatus: fields.grpcStatus,
    model: request.model,
    requestId: request.id === '' ? undefined : request.id,
    ...partsOfText(text),
  });
}

/** The `error_message` of a stream as the error that the caller sees. */
export function errorOfLaneText(details: string, request: RequestNames): TritonError {
  const text = details.replace(REQUEST_ID, '');
  const code = TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? 'TRITON_UNKNOWN';
  return requestError(request, code, text, { details });
}

/** The end of a stream with a request outstanding; status OK is no answer either. */
export function errorOfEnd(request: RequestNames, url: string, status: StatusObject): TritonError {
  const fields = { details: status.details, grpcStatus: status.code };
  if (status.code === Status.OK) {
    const text = `Triton at ${url} ended the stream without an answer`;
    return requestError(request, 'TRITON_CONNECTION_LOST', text, fields);
  }
  if (status.code === Status.UNAVAILABLE && !status.details.includes('restricted')) {
    const text = `the connection to Triton at ${url} was lost before the answer: ${status.details}`;
    return requestError(request, 'TRITON_CONNECTION_LOST', text, fields);
  }
  return requestError(request, codeOfStatus(status.code, status.details), status.details, fields);
}

/** An answer that is not the last one of its request. */
export function errorOfDecoupled(request: RequestNames): TritonError {
  const text = 'the model is decoupled: it answers a request any number of times, and infer() takes one answer';
  return requestError(request, 'TRITON_UNIMPLEMENTED', text);
}

/** The text of a model that is not loaded, and of every model while the server is leaving. */
export function saysModelIsGone(error: TritonError): boolean {
  return error.code === 'TRITON_NOT_FOUND' && error.details.includes('has no available versions');
}
