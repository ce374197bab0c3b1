import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { acceptedEncoding, decompressed } from '../../../src/http/compression.js';
import { jsonLength } from '../../../src/http/infer-request.js';

const text = Buffer.from('{"inputs": []}');
const gzipped = gzipSync(text);

describe('compressed requests', () => {
  test.each([
    ['gzip', gzipped],
    ['deflate', deflateSync(text)],
    ['gzip', deflateSync(text)],
    ['deflate', gzipped],
    ['identity', text],
    [undefined, text],
  ])('%s', async (encoding, body) => {
    expect(await decompressed(body, encoding)).toEqual(text);
  });

  test('what follows is passed over, and what is missing too', async () => {
    expect(await decompressed(Buffer.concat([gzipped, Buffer.from('junk')]), 'gzip')).toEqual(text);
    expect(await decompressed(gzipped.subarray(0, -8), 'gzip')).toEqual(text);
    const named = Buffer.concat([gzipped.subarray(0, 3), Buffer.of(0x08), gzipped.subarray(4, 10)]);
    const withName = Buffer.concat([named, Buffer.from('name\0'), gzipped.subarray(10)]);
    expect(await decompressed(withName, 'gzip')).toEqual(text);
  });

  test('bytes that were never compressed give nothing', async () => {
    expect(await decompressed(text, 'gzip')).toEqual(Buffer.alloc(0));
  });

  test.each(['br', 'GZIP', 'gzip, deflate', ''])('%j is refused', async (encoding) => {
    await expect(decompressed(gzipped, encoding)).rejects.toThrow('Unsupported compression type');
  });

  test('an empty body', async () => {
    await expect(decompressed(Buffer.alloc(0), 'gzip')).rejects.toThrow('nothing to be decompressed');
  });
});

// Each as a real 2.51 chose.
test.each([
  ['gzip', 'gzip'],
  ['deflate, gzip', 'deflate'],
  ['gzip;q=0, deflate', 'deflate'],
  ['gzip;q=0.5, deflate;q=0.8', 'deflate'],
  ['gzip,deflate;q=0', 'gzip'],
  ['identity;q=1, gzip;q=0.1', undefined],
  ['gzip ;q=0.1', undefined],
  ['gzip;q=abc', undefined],
  ['GZIP', undefined],
  ['x-gzip', undefined],
  ['*', undefined],
  ['', undefined],
  [undefined, undefined],
])('Accept-Encoding: %s', (header, encoding) => {
  expect(acceptedEncoding(header)).toBe(encoding);
});

test('Inference-Header-Content-Length is read as a C program would', () => {
  expect([undefined, '3', ' 3', '3abc', '+0', '0x3', 'abc', ''].map((header) => jsonLength(header, 5))).toEqual([
    5, 3, 3, 3, 0, 0, 0, 0,
  ]);
  for (const header of ['6', '-1', '99999999999999999999']) {
    expect(() => jsonLength(header, 5)).toThrow(`inference header size should be in range (0, 5), got: ${header}`);
  }
});

test('a body that would be larger than the limit when decompressed is refused', async () => {
  const bomb = gzipSync(Buffer.alloc(2 ** 24));
  await expect(decompressed(bomb, 'gzip', 2 ** 24 - 1)).rejects.toMatchObject({ code: 'INVALID_ARG' });
  expect(await decompressed(bomb, 'gzip', 2 ** 24)).toHaveLength(2 ** 24);
  await expect(decompressed(bomb, 'gzip', 2 ** 20)).rejects.toThrow('more than 1048576 bytes');
});
