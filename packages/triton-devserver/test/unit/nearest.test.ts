import { expect, test } from 'vitest';
import { nearest } from '../../src/nearest.js';

const KNOWN = ['models', 'modelRepository', 'grpcPort', 'httpPort', 'tls'];

test.each([
  ['model', 'models'],
  ['modelRepositry', 'modelRepository'],
  ['GRPCPORT', 'grpcPort'],
  ['htpPort', 'httpPort'],
  ['tsl', 'tls'],
  ['grcpPort', 'grpcPort'],
  ['port', undefined],
  ['tx', undefined],
  ['', undefined],
  ['x', undefined],
  ['xy', undefined],
])('%j is meant to be %j', (name, meant) => expect(nearest(name, KNOWN)).toBe(meant));

test('of nothing known there is none', () => expect(nearest('x', [])).toBeUndefined());
