import { Metadata } from '@grpc/grpc-js';
import { describe, expect, test, vi } from 'vitest';
import { errorOfStatus } from '../../src/errors.js';
import { errorOfEnd, errorOfLaneText, saysModelIsGone } from '../../src/grpc/lane-errors.js';
import { DisposedError, TritonError } from '../../src/index.js';

const REQUEST = { model: 'm', id: 'q' };
const URL = 'grpc://localhost:8001';

/** Texts that servers 2.48 and 2.51 sent on a stream, with the code that a unary call has for them. */
const SEEN: readonly (readonly [string, string])[] = [
  ["Request for unknown model: 'm' is not found", 'TRITON_NOT_FOUND'],
  ["Request for unknown model: 'm' has no available versions", 'TRITON_NOT_FOUND'],
  ["Unable to find shared memory region: 'r'", 'TRITON_NOT_FOUND'],
  ['[request id: q] Exceeds maximum queue size', 'TRITON_UNAVAILABLE'],
  ['Request timeout expired', 'TRITON_UNAVAILABLE'],
  ["Invalid offset for shared memory region: 'r'", 'TRITON_INVALID_ARGUMENT'],
  ["Invalid offset + byte size for shared memory region: 'r'", 'TRITON_INVALID_ARGUMENT'],
  [
    "[request id: <id_unknown>] input byte size mismatch for input 'X' for model 'm'. Expected 64, got 128",
    'TRITON_INVALID_ARGUMENT',
  ],
  ["[request id: q] unexpected shape for input 'X' for model 'm'. Expected [4], got [5]", 'TRITON_INVALID_ARGUMENT'],
  ["[request id: q] inference input 'X' data-type is 'INT32', but model 'm' expects 'FP32'", 'TRITON_INVALID_ARGUMENT'],
  [
    "[request id: q] expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['A'], but missing required input(s) ['B'].",
    'TRITON_INVALID_ARGUMENT',
  ],
  ["unexpected inference input 'WRONG' for model 'm'", 'TRITON_INVALID_ARGUMENT'],
  ["[request id: q] inference request batch-size must be <= 8 for 'm'", 'TRITON_INVALID_ARGUMENT'],
  ["[request id: q] input 'A' batch size does not match other inputs for 'm'", 'TRITON_INVALID_ARGUMENT'],
  ["unable to find data for input tensor 'A' for model 'm' in request.", 'TRITON_INVALID_ARGUMENT'],
  [
    "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
    'TRITON_INVALID_ARGUMENT',
  ],
  [
    "incomplete string data for inference input 'A', expecting string of length 5 but only 2 bytes available",
    'TRITON_INVALID_ARGUMENT',
  ],
  ["output can't set both 'shared_memory_region' and 'classification'", 'TRITON_INVALID_ARGUMENT'],
  ["Failed to process the request(s) for model 'm_0_0', message: ValueError: x", 'TRITON_INTERNAL'],
  ["Stub process 'm_0_0' is not healthy.", 'TRITON_INTERNAL'],
  ["ModelInfer RPC doesn't support models with decoupled transaction policy", 'TRITON_UNIMPLEMENTED'],
];

describe('errors on a lane', () => {
  test.each(SEEN)('%s', (text, code) => {
    const error = errorOfLaneText(text, REQUEST);
    expect(error).toMatchObject({ code, details: text, method: 'ModelInfer', model: 'm', requestId: 'q' });
    expect(error.grpcStatus).toBeUndefined();
    expect(error.message).not.toContain('[request id');
  });

  test('a text that is not known has no code', () => {
    expect(errorOfLaneText('This model always fails', REQUEST).code).toBe('TRITON_UNKNOWN');
    expect(errorOfLaneText("my model: Unable to find shared memory region: 'r'", REQUEST).code).toBe('TRITON_UNKNOWN');
  });

  test('region, output and size are told', () => {
    expect(errorOfLaneText("Unable to find shared memory region: 'slot-1'", REQUEST).region).toBe('slot-1');
    expect(errorOfLaneText("Invalid offset + byte size for shared memory region: 'r'", REQUEST).region).toBe('r');
    const text =
      "shared memory size specified with the request for output 'OUTPUT0' (16 bytes) should be at least 64 bytes to hold the results";
    expect(errorOfLaneText(text, REQUEST)).toMatchObject({
      code: 'TRITON_INTERNAL',
      output: 'OUTPUT0',
      requiredByteLength: 64,
    });
  });

  test('a model that is gone may be a server that leaves', () => {
    expect(saysModelIsGone(errorOfLaneText("Request for unknown model: 'm' has no available versions", REQUEST))).toBe(
      true,
    );
    expect(saysModelIsGone(errorOfLaneText("Request for unknown model: 'm' is not found", REQUEST))).toBe(false);
  });

  test('every end of a stream with a request under way is an error', () => {
    const end = (code: number, details: string) =>
      errorOfEnd(REQUEST, URL, { code, details, metadata: new Metadata() });
    expect(end(0, 'OK')).toMatchObject({ code: 'TRITON_CONNECTION_LOST', grpcStatus: 0 });
    expect(end(14, 'Connection dropped')).toMatchObject({ code: 'TRITON_CONNECTION_LOST', grpcStatus: 14 });
    expect(end(14, "This protocol is restricted, expecting header 'x'").code).toBe('TRITON_UNAVAILABLE');
    expect(end(12, 'unknown method').code).toBe('TRITON_UNIMPLEMENTED');
    expect(end(8, 'Bandwidth exhausted').code).toBe('TRITON_RESOURCE_EXHAUSTED');
  });

  test.each([
    'Received RST_STREAM with code 0 (Call ended without gRPC status)',
    'Received RST_STREAM with code 2 (Internal server error)',
    'Received RST_STREAM with code 2 triggered by internal client error: write EPIPE',
  ])('%s: no word of the server', (details) => {
    const status = { code: 13, details, metadata: new Metadata() };
    expect(errorOfEnd(REQUEST, URL, status)).toMatchObject({ code: 'TRITON_CONNECTION_LOST', grpcStatus: 13, details });
    expect(errorOfStatus(status, { method: 'M', address: URL }).code).toBe('TRITON_CONNECTION_LOST');
  });
});

describe('errors of unary calls', () => {
  const of = (code: number, details: string) =>
    errorOfStatus({ code, details }, { method: 'ModelMetadata', address: URL, model: 'm' });

  test.each([
    [1, 'TRITON_CANCELLED'],
    [2, 'TRITON_UNKNOWN'],
    [3, 'TRITON_INVALID_ARGUMENT'],
    [4, 'TRITON_TIMEOUT'],
    [5, 'TRITON_NOT_FOUND'],
    [6, 'TRITON_ALREADY_EXISTS'],
    [7, 'TRITON_PERMISSION_DENIED'],
    [12, 'TRITON_UNIMPLEMENTED'],
    [13, 'TRITON_INTERNAL'],
    [14, 'TRITON_UNAVAILABLE'],
    [16, 'TRITON_UNAUTHENTICATED'],
    [99, 'TRITON_UNKNOWN'],
  ])('status %d is %s', (status, code) => {
    expect(of(status, 'text')).toMatchObject({
      code,
      grpcStatus: status,
      method: 'ModelMetadata',
      details: 'text',
      model: 'm',
    });
  });

  test('a server that is not there gives one sentence with the address', () => {
    const details =
      'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:8001. Resolution note: ';
    expect(of(14, details)).toMatchObject({
      code: 'TRITON_UNAVAILABLE',
      message:
        'No Triton server answers at grpc://localhost:8001 (connect ECONNREFUSED 127.0.0.1:8001); start it there or give its gRPC address',
    });
  });

  test('a reason of several lines is told whole, in one', () => {
    const openssl = 'write EPROTO 0:error:0A00010B:SSL routines::wrong version number:../ssl3_record.c:354:\n';
    const details = `No connection established. Last error: Error: ${openssl}. Resolution note: two\nlines`;
    const error = errorOfStatus({ code: 14, details }, { method: 'M', address: 'grpcs://localhost:8001' });
    expect(error).toMatchObject({ code: 'TRITON_TLS', details, didNotRun: true });
    expect(error.message).toMatch(
      /^No TLS connection to Triton at grpcs:\/\/localhost:8001 \(write EPROTO .*ssl3_record\.c:354:\): there is no TLS server/,
    );
  });

  test('what a text does not say is advised', () => {
    const told = (details: string) => of(14, details).message;
    expect(told('explicit model load / unload is not allowed if polling is enabled')).toBe(
      'ModelMetadata: explicit model load / unload is not allowed if polling is enabled: start the server with --model-control-mode=explicit',
    );
    expect(told("ModelInfer RPC doesn't support models with decoupled transaction policy")).toMatch(
      /policy: use stream\(\)$/,
    );
    const flagged = "Client shared memory is disabled. Start the server with\n'--allow-client-shm=true' to enable.";
    expect(told(flagged)).toBe(`ModelMetadata: ${flagged}`);
  });

  test('a connection that was lost is not a busy server', () => {
    expect(of(14, 'Connection dropped').code).toBe('TRITON_CONNECTION_LOST');
    expect(of(14, 'Request timeout expired').code).toBe('TRITON_UNAVAILABLE');
    expect(of(14, 'Server exiting').code).toBe('TRITON_UNAVAILABLE');
  });

  test('region names are told', () => {
    expect(of(6, "shared memory region 'a' already in manager").region).toBe('a');
    expect(of(13, "Cannot unregister shared memory region 'a', it is currently in use.").region).toBe('a');
    expect(of(5, "The region named 'a' is registered as CUDA shared memory, not system shared memory").region).toBe(
      'a',
    );
  });

  test('where the text names a key or nothing, the region is the call’s', () => {
    const context = { method: 'SystemSharedMemoryRegister', address: URL, region: 'mine' };
    const region = (details: string) => errorOfStatus({ code: 13, details }, context).region;
    expect(region("Unable to open shared memory region: '/key'")).toBe('mine');
    expect(region('broken')).toBe('mine');
    expect(region("shared memory region 'a' already in manager")).toBe('a');
  });
});

test('errors have names, codes and causes', () => {
  const cause = new Error('cause');
  const error = new TritonError('text', { code: 'TRITON_INTERNAL', method: 'M', details: 'd', cause });
  expect(error).toBeInstanceOf(TritonError);
  expect([error.name, error.cause, String(error)]).toEqual(['TritonError', cause, 'TritonError: text']);
  expect(Object.keys(error)).toEqual(['code', 'method', 'details']);
  expect(cause).not.toBeInstanceOf(TritonError);
  expect(new DisposedError('It')).toMatchObject({
    code: 'ERR_DISPOSED',
    message: 'It is closed',
    name: 'DisposedError',
  });
});

test('instanceof holds across two copies of the package', async () => {
  vi.resetModules();
  const other = await import('../../src/errors.js');
  expect(other.TritonError).not.toBe(TritonError);
  const fields = { code: 'TRITON_INTERNAL', method: 'M', details: 'd' } as const;
  expect(new other.TritonError('text', fields)).toBeInstanceOf(TritonError);
  expect(new other.DisposedError('It')).toBeInstanceOf(DisposedError);
  expect(new other.DisposedError('It')).not.toBeInstanceOf(TritonError);
});
