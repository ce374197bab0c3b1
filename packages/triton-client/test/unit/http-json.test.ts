import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonError, parseJson, writeJson } from '../../src/http/json.js';

/** What JSON and JavaScript both hold. */
const plain = fc.jsonValue({ maxDepth: 4 });
/** What Triton's JSON holds beyond that. */
const { wide } = fc.letrec<{ wide: unknown }>((tie) => ({
  wide: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
    fc.array(tie('wide'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('wide'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

/** `value` with each of its leaves changed. */
const mapped = (value: unknown, change: (leaf: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((element) => mapped(element, change));
  if (typeof value !== 'object' || value === null) return change(value);
  return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, mapped(element, change)]));
};

describe('parseJson', () => {
  test('reads what JSON.parse reads, also where the text makes it look twice', () => {
    fc.assert(
      fc.property(plain, fc.boolean(), (value, twice) => {
        const text = JSON.stringify(twice ? [value, 'NaN'] : value, undefined, twice ? 1 : 0);
        expect(mapped(parseJson(text), (leaf) => (typeof leaf === 'bigint' ? Number(leaf) : leaf))).toEqual(
          JSON.parse(text),
        );
      }),
    );
  });

  test.each([
    [
      '[9223372036854775807, -9223372036854775808, 18446744073709551615]',
      [2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n],
    ],
    ['[9007199254740991, 9007199254740993]', [9007199254740991, 9007199254740993n]],
    ['{"score": NaN, "low":-Infinity,"high":Infinity}', { score: Number.NaN, low: -Infinity, high: Infinity }],
    ['[0.30000001192092898, 1e300, 1152921504606846976.0]', [Math.fround(0.3), 1e300, 2 ** 60]],
    ['"NaN \\" \\\\ \\u00e9 1234567890123456"', 'NaN " \\ é 1234567890123456'],
    ['{"NaN":[],"a":{}, "b" : [ true , false,null ]}', { NaN: [], a: {}, b: [true, false, null] }],
  ])('%s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test('a name is a name, also __proto__', () => {
    const value = parseJson('{"__proto__": NaN}') as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
  });

  test.each([
    '',
    '{',
    '[NaN',
    '[NaN,]',
    '{"a":NaN,}',
    '{NaN:1}',
    'NaNs',
    '[1 NaN]',
    '"NaN',
    '"NaN\n"',
    '+NaN',
    'nope',
    'Infinit',
  ])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(JsonError);
  });

  test('refuses text that is nested without end', () => {
    expect(() => parseJson(`${'['.repeat(100_000)}NaN`)).toThrow('more than 200 levels');
  });

  test('reads long strings', () => {
    const value = ['\\"'.repeat(2_000_000), 'x'.repeat(5_000_000)];
    expect(parseJson(JSON.stringify([...value, 'NaN']))).toEqual([...value, 'NaN']);
  });

  test('any text is read or refused', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      'NaN',
      'Infinity',
      '-',
      '1234567890123456',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 12 }), (parts) => {
        try {
          parseJson(parts.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError);
        }
      }),
      { numRuns: 5000 },
    );
  });
});

describe('writeJson', () => {
  test('writes what parseJson reads', () => {
    fc.assert(
      fc.property(wide, (value) => {
        // -0 has no place in Triton's integers.
        expect(parseJson(writeJson(value))).toEqual(mapped(value, (leaf) => (leaf === 0 ? 0 : leaf)));
      }),
    );
  });

  test('integers are bare digits, numbers past 2^53 doubles, undefined is left out', () => {
    const value = {
      big: 2n ** 63n - 1n,
      exact: 2 ** 53 - 1,
      wide: 2 ** 60,
      nan: Number.NaN,
      none: undefined,
      half: 0.5,
    };
    const text =
      '{"big":9223372036854775807,"exact":9007199254740991,"wide":1.152921504606847e+18,"nan":NaN,"half":0.5}';
    expect(writeJson(value)).toBe(text);
  });

  test.each([[undefined], [() => 1], [Symbol('x')], [new Date(0)], [new Uint8Array(1)], [new Map()]])(
    'refuses %s',
    (value) => {
      expect(() => writeJson([value])).toThrow(TypeError);
    },
  );

  test('refuses a circle', () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => writeJson(circle)).toThrow('at most 200 levels');
  });
});
