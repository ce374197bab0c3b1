import { expect, test } from 'vitest';
import { type ForwardHeaders, forwardedOver } from '../../src/forwarded-headers.js';

const NAMES = ['x-f', 'x-forward-me', 'yx-f', 'X-F2', 'x-g'];
const forwarded = (headers: ForwardHeaders | undefined, protocol: 'grpc' | 'http' = 'grpc') =>
  NAMES.filter(forwardedOver(protocol, headers));

test('a pattern matches somewhere in a name, whatever its capitals, and as a whole when it says so', () => {
  expect(forwarded(/x-f/)).toEqual(['x-f', 'x-forward-me', 'yx-f', 'X-F2']);
  expect(forwarded(/^X-F$/)).toEqual(['x-f']);
  expect(forwarded(undefined)).toEqual([]);
});

test('a pattern for one protocol', () => {
  expect(forwarded({ http: /g$/ }, 'http')).toEqual(['x-g']);
  expect(forwarded({ http: /g$/ }, 'grpc')).toEqual([]);
});

test('a pattern that goes on from its last match finds each name all the same', () => {
  const matches = forwardedOver('grpc', /x-f/gy);
  expect([matches('x-f'), matches('x-f'), matches('x-f')]).toEqual([true, true, true]);
});
