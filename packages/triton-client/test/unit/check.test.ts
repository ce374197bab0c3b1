import { expect, test } from 'vitest';
import { typeError } from '../../src/check.js';

test.each<[unknown, string]>([
  [undefined, 'undefined of type undefined'],
  [null, 'null of type object'],
  ['x', "'x' of type string"],
  ['y'.repeat(300), `'${'y'.repeat(200)}…' of type string`],
  [5n, '5 of type bigint'],
  [Symbol('s'), 'Symbol(s) of type symbol'],
  [[1, 'a', null], '[1, a, null] of type object'],
  [Array.from({ length: 1000 }, (_, index) => index), '[0, 1, 2, 3, 4, 5, 6, 7, … 992 more] of type object'],
  [new Float32Array(3), 'Float32Array(3) of type object'],
  [Buffer.alloc(2), 'Buffer(2) of type object'],
  [new DataView(new ArrayBuffer(8)), 'DataView(8) of type object'],
  [{}, '{} of type object'],
  [{ region: 'r', byteLength: 8 }, '{ region, byteLength } of type object'],
  [
    Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`k${index}`, 0])),
    '{ k0, k1, k2, k3, k4, k5, k6, k7, … 1 more } of type object',
  ],
  [new Map([[1, 2]]), 'Map of type object'],
  [Object.create(null), '{} of type object'],
  [function named() {}, 'function named of type function'],
])('what came is shown: %o', (value, shown) => {
  expect(typeError('x', 'y', value).message).toBe(`Expected x for y but received ${shown}`);
});
