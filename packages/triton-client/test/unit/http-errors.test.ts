import { describe, expect, test } from 'vitest';
import { parseHttpAddress } from '../../src/address.js';
import { errorOfFailure, errorOfResponse, isTritons } from '../../src/http/errors.js';
import { HttpFailure } from '../../src/http/exchange.js';

const ADDRESS = parseHttpAddress('http://triton:8000', 'url');
const NAMES = { method: 'ModelInfer', model: 'm' };
const response = (status: number, body: string, headers = {}) => ({
  status,
  headers,
  body: Buffer.from(body),
  jsonByteLength: undefined,
});
const triton = (status: number, error: string) => response(status, JSON.stringify({ error }));

describe('errors of HTTP answers', () => {
  test.each([
    [400, 'anything', 'TRITON_INVALID_ARGUMENT'],
    [404, 'anything', 'TRITON_NOT_FOUND'],
    [500, 'anything', 'TRITON_INTERNAL'],
    [501, 'anything', 'TRITON_UNIMPLEMENTED'],
    [503, 'anything', 'TRITON_UNAVAILABLE'],
    // One status, several codes of gRPC.
    [400, "shared memory region 'r' already in manager", 'TRITON_ALREADY_EXISTS'],
    [403, "This API is restricted, expecting header 'infra-key'", 'TRITON_UNAVAILABLE'],
    [503, 'invalid argument for --log_format, got: bad', 'TRITON_INVALID_ARGUMENT'],
    [400, '[request id: q] Exceeds maximum queue size', 'TRITON_UNAVAILABLE'],
    [500, "failed to load 'nope', failed to poll from model repository", 'TRITON_INTERNAL'],
  ])('%d %s', (status, text, code) => {
    const error = errorOfResponse(triton(status, text), ADDRESS, NAMES);
    expect(error).toMatchObject({ code, details: text, httpStatus: status, method: 'ModelInfer', model: 'm' });
    expect(error.message).not.toContain('[request id');
    expect(isTritons(triton(status, text))).toBe(true);
  });

  test('a generate call has the status 400 for all that its model says', () => {
    const names = { method: 'generate', model: 'm' };
    expect(errorOfResponse(triton(400, 'gens failed'), ADDRESS, names).code).toBe('TRITON_UNKNOWN');
    expect(errorOfResponse(triton(500, 'gens failed'), ADDRESS, names).code).toBe('TRITON_INTERNAL');
    const event = response(400, 'data: {"error":"gens failed"}\n\ndata: {"a":1}\n\n');
    expect(errorOfResponse(event, ADDRESS, names).details).toBe('gens failed');
    const refused = "The schema can not convert input 'n' to tensor with proper shape";
    expect(errorOfResponse(triton(400, refused), ADDRESS, names).code).toBe('TRITON_INVALID_ARGUMENT');
  });

  test.each([
    [502, '<html>Bad Gateway</html>', 'TRITON_UNAVAILABLE'],
    [504, '', 'TRITON_UNAVAILABLE'],
    [413, 'too large', 'TRITON_RESOURCE_EXHAUSTED'],
    [429, 'slow down', 'TRITON_RESOURCE_EXHAUSTED'],
    [401, 'who are you', 'TRITON_UNAUTHENTICATED'],
    [403, 'no', 'TRITON_PERMISSION_DENIED'],
    [418, 'teapot', 'TRITON_INVALID_ARGUMENT'],
    [599, '', 'TRITON_INTERNAL'],
    [204, '', 'TRITON_MALFORMED_RESPONSE'],
  ])("a proxy's %d %s", (status, body, code) => {
    const error = errorOfResponse(response(status, body), ADDRESS, NAMES);
    expect(error).toMatchObject({ code, httpStatus: status });
    expect(error.details).toContain(`HTTP status ${status}`);
    expect(isTritons(response(status, body))).toBe(false);
  });

  test('a redirect says where to', () => {
    const error = errorOfResponse(response(307, '', { location: 'http://other/v2' }), ADDRESS, NAMES);
    expect(error.code).toBe('TRITON_UNAVAILABLE');
    expect(error.message).toContain('http://other/v2');
  });
});

describe('errors without an answer', () => {
  const failure = (sent: boolean, code: string) =>
    errorOfFailure(new HttpFailure(sent, Object.assign(new Error('why'), { code })), ADDRESS, NAMES);

  test.each([
    [false, 'ECONNREFUSED', 'TRITON_UNAVAILABLE'],
    [false, 'ENOTFOUND', 'TRITON_UNAVAILABLE'],
    [false, 'UND_ERR_CONNECT_TIMEOUT', 'TRITON_TIMEOUT'],
    [false, 'DEPTH_ZERO_SELF_SIGNED_CERT', 'TRITON_TLS'],
    [true, 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'TRITON_TLS'],
    [true, 'ECONNRESET', 'TRITON_CONNECTION_LOST'],
    [true, 'UND_ERR_SOCKET', 'TRITON_CONNECTION_LOST'],
    [true, 'UND_ERR_HEADERS_OVERFLOW', 'TRITON_MALFORMED_RESPONSE'],
    [true, 'UND_ERR_DESTROYED', 'TRITON_CANCELLED'],
  ])('sent %s, %s', (sent, code, expected) => {
    expect(failure(sent, code)).toMatchObject({ code: expected, method: 'ModelInfer', model: 'm' });
  });
});
