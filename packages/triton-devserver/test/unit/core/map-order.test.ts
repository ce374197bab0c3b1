import { expect, test } from 'vitest';
import { inMapOrder } from '../../../src/core/map-order.js';

const numbered = (count: number, name: (index: number) => string) => Array.from({ length: count }, (_, i) => name(i));

// What std::unordered_map<std::string, int> of GNU's library gives for names that were put in one after the other.
test.each([
  [['A', 'B'], 'B,A'],
  [['INPUT0', 'INPUT1'], 'INPUT1,INPUT0'],
  [['X', 'MASK', 'START', 'READY', 'a longer name than eight'], 'READY,a longer name than eight,START,MASK,X'],
  [
    numbered(14, (i) => `input_${i}`),
    'input_0,input_4,input_13,input_10,input_2,input_9,input_8,input_5,input_1,input_3,input_6,input_7,input_11,input_12',
  ],
  [
    numbered(30, (i) => `T${7 * i}`),
    'T203,T84,T70,T63,T28,T77,T42,T91,T56,T35,T49,T7,T182,T14,T105,T175,T0,T98,T112,T161,T126,T196,T119,T133,T21,T140,T154,T147,T168,T189',
  ],
])('the order of %j', (names, order) => {
  const items = names.map((name) => ({ name }));
  expect(inMapOrder(items).map(({ name }) => name)).toEqual(order.split(','));
  expect(items.map(({ name }) => name)).toEqual(names);
});
