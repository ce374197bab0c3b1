import { expect, test } from 'vitest';
import { authorityOf, parseAddress, parseHttpAddress } from '../../src/address.js';

test.each([
  ['grpc://localhost:8001', 'grpc', 'localhost', 8001, true],
  ['GRPC://LOCALHOST:8001', 'grpc', 'LOCALHOST', 8001, true],
  ['grpcs://triton.example:443', 'grpcs', 'triton.example', 443, false],
  ['grpc://127.0.0.1:8001', 'grpc', '127.0.0.1', 8001, true],
  ['grpc://127.12.0.9:8001/', 'grpc', '127.12.0.9', 8001, true],
  ['grpc://[::1]:8001', 'grpc', '::1', 8001, true],
  ['grpc://[fe80::1]:8001', 'grpc', 'fe80::1', 8001, false],
  ['grpc://triton.example:8001', 'grpc', 'triton.example', 8001, false],
  ['grpc://127.example:1', 'grpc', '127.example', 1, false],
  ['unix:/run/triton:8001', 'unix', '/run/triton:8001', 0, true],
  ['unix:///run/triton:8001', 'unix', '/run/triton:8001', 0, true],
  ['http://localhost:8000', 'http', 'localhost', 8000, true],
  ['https://triton.example:8443/', 'https', 'triton.example', 8443, false],
])('%s', (url, scheme, host, port, isLocal) => {
  expect(parseAddress(url)).toEqual({ url, scheme, host, port, basePath: '', isLocal });
});

test('HTTP may have a path before /v2', () => {
  expect(parseAddress('http://proxy.example:80/triton/a/').basePath).toBe('/triton/a');
  expect(parseHttpAddress('https://proxy.example:443/b', 'httpUrl').basePath).toBe('/b');
});

test('the authority of an IPv6 address has brackets', () => {
  expect(authorityOf(parseAddress('grpc://[::1]:8001'))).toBe('[::1]:8001');
  expect(authorityOf(parseAddress('grpc://a.example:8001'))).toBe('a.example:8001');
});

test.each([
  '',
  'localhost:8001',
  'ftp://localhost:8000',
  'http://localhost',
  'http://localhost:8000/?a=b',
  'grpc://localhost',
  'grpc://localhost:0',
  'grpc://localhost:65536',
  'grpc://user@localhost:8001',
  'http://user:password@localhost:8000',
  'grpc://localhost:8001/path',
  'unix:relative',
])('refuses %j and says what is expected', (url) => {
  expect(() => parseAddress(url)).toThrow(/^Expected 'grpc:\/\/host:port', .* for url but received/);
});

test.each(['grpc://localhost:8001', 'unix:/run/triton:8001', 'localhost:8000', undefined])(
  'refuses %j where only HTTP will do',
  (url) => {
    expect(() => parseHttpAddress(url as string, 'httpUrl')).toThrow(/^Expected 'http:\/\/host:port', .* for httpUrl/);
  },
);
