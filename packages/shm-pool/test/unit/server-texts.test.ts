import { expect, test } from 'vitest';
import {
  countsRegionUsers,
  isQueueRefusal,
  isTimeout,
  isUnreachable,
  missingRegion,
  registrationError,
  tooSmallOutput,
} from '../../src/server-texts.js';

const coded = (code: unknown, message: string) => Object.assign(new Error(message), { code });

test('the texts of real servers lead to codes', () => {
  const code = (kind: 'cuda' | 'system', error: unknown) => (registrationError(kind, error) as { code?: unknown }).code;
  const disabled = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";
  expect(code('system', coded(12, disabled))).toBe('ERR_SHM_DISABLED');
  expect(code('system', new Error("Unable to open shared memory region: '/x'"))).toBe('ERR_SHM_NAMESPACE');
  expect(code('cuda', new Error("failed to register CUDA shared memory region: 'x', GPUs not supported"))).toBe(
    'ERR_CUDA_UNAVAILABLE',
  );
  expect(code('cuda', new Error('failed to register shared memory region: invalid args'))).toBe('ERR_IPC_REFUSED');
  expect(code('system', new Error('failed to register shared memory region: invalid args'))).toBe('ERR_SHM_REFUSED');
  const restricted = coded(
    'TRITON_UNAVAILABLE',
    "This protocol is restricted, expecting header 'triton-grpc-protocol-k'",
  );
  expect(code('system', restricted)).toBe('ERR_SHM_RESTRICTED');
  expect(isUnreachable(restricted)).toBe(false);
  const gone = coded('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
  expect(registrationError('system', gone)).toBe(gone);
});

test('no answer in time says as little about what the server did as no connection', () => {
  for (const late of [coded('TRITON_TIMEOUT', 'too late'), coded(4, 'Deadline Exceeded'), { grpcStatus: 4 }]) {
    expect(isTimeout(late)).toBe(true);
    expect(isUnreachable(late)).toBe(true);
    expect(registrationError('cuda', late)).toBe(late);
  }
  expect(isTimeout(coded('TRITON_UNAVAILABLE', 'connect ECONNREFUSED'))).toBe(false);
});

test("a model's queue that refuses a request is an answer, although its status is that of a lost connection", () => {
  for (const text of ['Request timeout expired', '[request id: q] Exceeds maximum queue size']) {
    for (const refusal of [coded(14, text), coded('TRITON_UNAVAILABLE', `in ensemble 'e', ${text}`)]) {
      expect(isQueueRefusal(refusal)).toBe(true);
      expect(isUnreachable(refusal)).toBe(false);
    }
  }
  const gone = coded('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
  expect(isQueueRefusal(gone)).toBe(false);
  expect(isUnreachable(gone)).toBe(true);
});

test('a refused request names its region, an output its size', () => {
  expect(missingRegion(new Error("Unable to find shared memory region: 'a.1'"))).toBe('a.1');
  expect(missingRegion(Object.assign(coded('TRITON_NOT_FOUND', 'gone'), { region: 'b' }))).toBe('b');
  expect(missingRegion(coded('TRITON_NOT_FOUND', 'Request for unknown model'))).toBeUndefined();
  const text =
    "shared memory size specified with the request for output 'OUTPUT0' (16 bytes) should be at least 64 bytes to hold the results";
  expect(tooSmallOutput(new Error(text))).toEqual({ output: 'OUTPUT0', byteLength: 64 });
  // Triton takes any name.
  const odd = text.replace('OUTPUT0', "it's\nodd");
  expect(tooSmallOutput(new Error(odd))).toEqual({ output: "it's\nodd", byteLength: 64 });
});

test('servers from 2.50 on count users of regions; unknown versions are not trusted', () => {
  const versions = ['2.50.0', '2.51.0', '2.100.0', '3.0.0'];
  expect(versions.filter((version) => !countsRegionUsers(version))).toEqual([]);
  const others = ['2.49.0', '2.5.0', '1.99.0', '', 'dev', '2', 'v2.51.0'];
  expect(others.filter(countsRegionUsers)).toEqual([]);
});
