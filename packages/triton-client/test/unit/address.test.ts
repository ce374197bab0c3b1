import { expect, test } from 'vitest';
import { parseAddress } from '../../src/address.js';

test.each([
  ['grpc://localhost:8001', 'dns:localhost:8001', true],
  ['grpc://127.0.0.1:8001', 'dns:127.0.0.1:8001', true],
  ['grpc://127.12.0.9:8001/', 'dns:127.12.0.9:8001', true],
  ['grpc://[::1]:8001', 'dns:[::1]:8001', true],
  ['grpc://[fe80::1]:8001', 'dns:[fe80::1]:8001', false],
  ['grpc://triton.example:8001', 'dns:triton.example:8001', false],
  ['grpc://127.example:1', 'dns:127.example:1', false],
  ['unix:/run/triton:8001', 'unix:/run/triton:8001', true],
  ['unix:///run/triton:8001', 'unix:/run/triton:8001', true],
])('%s', (url, target, isLocal) => {
  expect(parseAddress(url)).toEqual({ url, target, isLocal });
});

test.each([
  '',
  'localhost:8001',
  'http://localhost:8000',
  'grpc://localhost',
  'grpc://localhost:0',
  'grpc://localhost:65536',
  'grpc://user@localhost:8001',
  'grpc://localhost:8001/path',
  'unix:relative',
])('refuses %j and says what is expected', (url) => {
  expect(() => parseAddress(url)).toThrow(/^Expected 'grpc:\/\/host:port' or 'unix:\/path' for url but received/);
});
