import type { Address } from '../address.js';
import { codeOfText, saysRegionIsUnknown, withoutRequestId } from '../error-texts.js';
import { oneLine, TritonError, type TritonErrorCode, type TritonErrorFields } from '../errors.js';
import { type CallNames, callError } from '../request-error.js';
import { tlsAdvice } from '../tls-errors.js';
import { EventReader } from './events.js';
import type { HttpFailure } from './exchange.js';
import { JsonError, parseJson } from './json.js';
import { type HttpResponse, headerOf } from './response.js';

/** What an error says of the call it belongs to. */
export type HttpCallNames = Omit<CallNames, 'at'>;

/** Triton's own map of its errors (400 stands for four of them), and what proxies answer with. */
const STATUSES: ReadonlyMap<number, TritonErrorCode> = new Map([
  [400, 'TRITON_INVALID_ARGUMENT'],
  [401, 'TRITON_UNAUTHENTICATED'],
  [403, 'TRITON_PERMISSION_DENIED'],
  [404, 'TRITON_NOT_FOUND'],
  [405, 'TRITON_UNIMPLEMENTED'],
  [413, 'TRITON_RESOURCE_EXHAUSTED'],
  [429, 'TRITON_RESOURCE_EXHAUSTED'],
  [500, 'TRITON_INTERNAL'],
  [501, 'TRITON_UNIMPLEMENTED'],
  [502, 'TRITON_UNAVAILABLE'],
  [503, 'TRITON_UNAVAILABLE'],
  [504, 'TRITON_UNAVAILABLE'],
]);
const MAX_SHOWN = 300;

/**
 * Triton's own text, of an answer that is an error: `{"error": "…"}`, whatever the content type says, and as the first
 * event of a stream. Undefined for what somebody else answered, such as a proxy.
 */
function errorTextOf(body: Buffer): string | undefined {
  const [event] = new EventReader().read(body);
  try {
    const value = parseJson(event ?? body.toString('utf8'));
    const error = typeof value === 'object' && value !== null ? (value as { error?: unknown }).error : undefined;
    return typeof error === 'string' ? error : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** Whether a failure's answer is the server's own, and not that of something before it. */
export function isTritons(response: HttpResponse): boolean {
  return errorTextOf(response.body) !== undefined;
}

/** An answer whose status is not 200. */
export function errorOfResponse(response: HttpResponse, address: Address, names: HttpCallNames): TritonError {
  const { status } = response;
  if (status >= 300 && status < 400) {
    const location = headerOf(response.headers, 'location') ?? 'nowhere';
    const details = `HTTP status ${status}: the address leads to ${location}; redirects are not followed, so give that one`;
    return httpError('TRITON_UNAVAILABLE', details, names, { httpStatus: status, at: address });
  }
  const text = errorTextOf(response.body);
  const advice = status === 404 ? adviceOnPath(address, text) : undefined;
  if (text !== undefined) return errorOfText(text, status, names, advice);
  const shown = response.body.toString('utf8', 0, MAX_SHOWN).trim();
  const details = `HTTP status ${status}${shown === '' ? '' : `: ${shown}`}`;
  return httpError(codeOfStatus(status), details, names, { httpStatus: status, at: address, advice });
}

/** Triton has such a text for a path that it has nothing at. */
function adviceOnPath({ url, basePath }: Address, text: string | undefined): string | undefined {
  if (/\/v2(?:\/|$)/.test(basePath)) return `the client adds /v2/… to its address itself, so leave it out of ${url}`;
  return text === 'Not Found' && basePath !== ''
    ? `is the path of ${url} right? The client adds /v2/… to it`
    : undefined;
}

/**
 * Triton's text and the status it came with. What fails within a generate call has the status 400 whatever its code, and
 * 200 in the middle of a stream, so that there the text alone decides.
 */
export function errorOfText(details: string, httpStatus: number, names: HttpCallNames, advice?: string): TritonError {
  const text = withoutRequestId(details, names.requestId);
  const statusTells = !names.method.startsWith('generate') || httpStatus > 400;
  const code = codeOfText(text) ?? (statusTells ? codeOfStatus(httpStatus) : 'TRITON_UNKNOWN');
  const didNotRun = (code === 'TRITON_NOT_FOUND' && saysRegionIsUnknown(text)) || undefined;
  return httpError(code, text, names, { details, httpStatus, didNotRun, advice });
}

/** There is no answer. */
export function errorOfFailure(failure: HttpFailure, address: Address, names: HttpCallNames): TritonError {
  const { cause, sent } = failure;
  const fields = { cause, at: address, didNotRun: !sent || undefined };
  if (cause instanceof TritonError) return httpError(cause.code, cause.details, names, fields);
  const code = codeOfCause(cause);
  const reason = oneLine(failure.message);
  if (code === 'UND_ERR_DESTROYED') return httpError('TRITON_CANCELLED', 'the client was closed', names, fields);
  if (!sent && code === 'UND_ERR_CONNECT_TIMEOUT') {
    return httpError('TRITON_TIMEOUT', 'connecting took too long', names, fields);
  }
  const advice = address.scheme === 'https' ? tlsAdvice(reason) : undefined;
  if (isTls(code) || (!sent && advice !== undefined)) {
    const details = `the TLS connection failed (${reason}): ${advice ?? 'see the option tls'}`;
    return httpError('TRITON_TLS', details, names, fields);
  }
  if (!sent) {
    const details = `No Triton server answers at ${address.url} (${reason}); start it there or give its HTTP address`;
    return httpError('TRITON_UNAVAILABLE', details, names, { ...fields, at: undefined });
  }
  // undici's error of its parser has a code in some cases only.
  if ((cause as Error).name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW') {
    const details = `what answers is not HTTP/1.1 (${reason}); Triton's HTTP port is 8000 unless told otherwise`;
    return httpError('TRITON_MALFORMED_RESPONSE', details, names, fields);
  }
  // When TLS refuses a client for its certificate, undici keeps of it only that the connection ended.
  const hint =
    address.scheme === 'https' ? ' (a server that asks for client certificates needs tls.cert and tls.key)' : '';
  const details = `the connection was lost before the answer: ${reason}${hint}`;
  return httpError('TRITON_CONNECTION_LOST', details, names, fields);
}

/** An error of a call to `at`, where that is to be said. */
export function httpError(
  code: TritonErrorCode,
  text: string,
  names: HttpCallNames,
  {
    at,
    ...facts
  }: Pick<Partial<TritonErrorFields>, 'details' | 'httpStatus' | 'didNotRun' | 'cause'> & {
    readonly at?: Address | undefined;
    readonly advice?: string | undefined;
  } = {},
): TritonError {
  return callError({ ...names, at: at?.url }, code, text, facts);
}

function codeOfStatus(status: number): TritonErrorCode {
  const code = STATUSES.get(status);
  if (code !== undefined) return code;
  if (status >= 400 && status < 500) return 'TRITON_INVALID_ARGUMENT';
  return status >= 500 ? 'TRITON_INTERNAL' : 'TRITON_MALFORMED_RESPONSE';
}

function codeOfCause(cause: unknown): string {
  const code = (cause as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

/** OpenSSL's and Node's names of what goes wrong in a handshake. */
function isTls(code: string): boolean {
  return /^(?:ERR_SSL_|ERR_TLS_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO$)/.test(code);
}
