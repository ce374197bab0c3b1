import { describe, expect, test } from 'vitest';
import { doubleToJson } from '../../../src/http/json-double.js';
import { readJson } from '../../../src/http/json-reader.js';
import { JsonObject, RawString, WholeDouble } from '../../../src/http/json-value.js';
import { answerToJson, bytesToJson, textToJson } from '../../../src/http/json-writer.js';

const read = (text: string | Uint8Array) => readJson(typeof text === 'string' ? Buffer.from(text) : text);

describe('reading', () => {
  test('values', () => {
    const json = read(' {"a": [1, -2, 2.5, true, false, null, "x\\n\\u00e9\\ud83d\\ude00"], "b": {}, "a": 5} ');
    expect(json).toBeInstanceOf(JsonObject);
    expect((json as JsonObject).get('a')).toEqual([1, -2, 2.5, true, false, null, 'x\né😀']);
    expect((json as JsonObject).members.map(([name]) => name)).toEqual(['a', 'b', 'a']);
    expect(read('[]')).toEqual([]);
  });

  test('integers keep all digits, and are told from doubles', () => {
    expect(read('[9007199254740991,9007199254740993,18446744073709551615,-9223372036854775808]')).toEqual([
      9007199254740991,
      9007199254740993n,
      18446744073709551615n,
      -9223372036854775808n,
    ]);
    expect(read('[18446744073709551616,-9223372036854775809,1.0,1e3,-0.0]')).toEqual(
      [2 ** 64, -(2 ** 63), 1, 1000, -0].map((value) => new WholeDouble(value)),
    );
    expect(read('-0')).toBe(0);
    // Wrong in the last bit, as the server's.
    expect(doubleToJson((read('123456789012345680000') as WholeDouble).value)).toBe('123456789012345670000.0');
  });

  test('doubles as RapidJSON reads them', () => {
    for (const value of [0.1, 0.3, 1.5, 123.456, 1e-7, 5e-324, 2 ** -1074 * 3, 1.7976931348623157e308, 1 / 3]) {
      const json = read(String(value));
      const number = json instanceof WholeDouble ? json.value : json;
      // Its default precision is allowed to miss the last bits.
      expect(Math.abs((number as number) - value)).toBeLessThanOrEqual(value * 2 ** -51);
    }
    expect(read('[NaN,Inf,-Infinity,Infinity]')).toEqual([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ]);
  });

  test('a byte order mark, a zero byte at the end, strings that are no UTF-8', () => {
    expect(read(Buffer.from('\ufeff[1]'))).toEqual([1]);
    expect(read('[1]\0anything')).toEqual([1]);
    expect(read(Buffer.from([0x22, 0xff, 0xfe, 0x22]))).toEqual(new RawString(Buffer.of(0xff, 0xfe)));
    expect(read('"\\udc00"')).toEqual(new RawString(Buffer.of(0xed, 0xb0, 0x80)));
  });

  // Each with what a real 2.51 said.
  test.each([
    ['', 'The document is empty. at 0'],
    [' ', 'The document is empty. at 1'],
    ['{', 'Missing a name for object member. at 1'],
    ['{"a"', 'Missing a colon after a name of object member. at 4'],
    ['{"a":', 'Invalid value. at 5'],
    ['{"a":1', "Missing a comma or '}' after an object member. at 6"],
    ['{"a":1,}', 'Missing a name for object member. at 7'],
    ['[1,]', 'Invalid value. at 3'],
    ['[1 2]', "Missing a comma or ']' after an array element. at 3"],
    ['{"a":1}x', 'The document root must not be followed by other values. at 7'],
    ['nul', 'Invalid value. at 3'],
    ['fals', 'Invalid value. at 4'],
    ['-', 'Invalid value. at 1'],
    ['1.', 'Miss fraction part in number. at 2'],
    ['1e', 'Miss exponent in number. at 2'],
    ['1e400', 'Number too big to be stored in double. at 0'],
    ['{"a":"\\x"}', 'Invalid escape character in string. at 6'],
    ['{"a":"\\u12"}', 'Incorrect hex digit after \\u escape in string. at 6'],
    ['{"a":"\\ud800"}', 'The surrogate pair in string is invalid. at 6'],
    ['{"a":"\\ud800\\u0041"}', 'The surrogate pair in string is invalid. at 6'],
    ['{"a":"x', 'Missing a closing quotation mark in string. at 7'],
    ['{"a":"\u0001"}', 'Invalid escape character in string. at 6'],
    ['{"a":Na}', 'Invalid value. at 7'],
    ['{"a":Infi}', 'Invalid value. at 9'],
    ['{"a":01}', "Missing a comma or '}' after an object member. at 6"],
    ['{"a":+1}', 'Invalid value. at 5'],
    ['{"a":.5}', 'Invalid value. at 5'],
    ['\ufeff{', 'Missing a name for object member. at 4'],
  ])('%j is refused', (text, problem) => {
    expect(() => read(text)).toThrow(`failed to parse the request JSON buffer: ${problem}`);
  });

  test('a text that nests too deep is refused, and does not end the stack', () => {
    expect(() => read('['.repeat(1_000_000))).toThrow('at 1000');
  });
});

describe('writing', () => {
  // As a real 2.51 wrote them: not always the shortest digits.
  test.each([
    [Math.fround(0.3), '0.30000001192092898'],
    [Math.fround(1e-7), '1.0000000116860974e-7'],
    [Math.fround(3.4e38), '3.3999999521443644e38'],
    [Math.fround(1e-45), '1.401298464324817e-45'],
    [0.1, '0.1'],
    [1e300, '1e300'],
    [1e21, '1e21'],
    [1e20, '100000000000000000000.0'],
    [2 ** 64, '18446744073709553000.0'],
    [1e-6, '0.000001'],
    [1.5e-7, '1.5e-7'],
    [5e-324, '5e-324'],
    [Number.MAX_VALUE, '1.7976931348623157e308'],
    [-0, '-0.0'],
    [0, '0.0'],
    [-1.5, '-1.5'],
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
  ])('%d', (value, text) => {
    expect(doubleToJson(value)).toBe(text);
  });

  test('every double reads back as itself', () => {
    const bits = new DataView(new ArrayBuffer(8));
    for (let round = 0; round < 2000; round++) {
      bits.setUint32(0, Math.random() * 2 ** 32);
      bits.setUint32(4, Math.random() * 2 ** 32);
      const value = bits.getFloat64(0);
      if (Number.isFinite(value)) expect(Number(doubleToJson(value))).toBe(value);
    }
  });

  test('strings', () => {
    expect(bytesToJson(Buffer.from('a"\\/\b\f\n\r\t\u001f\u007f'))).toBe('"a\\"\\\\/\\b\\f\\n\\r\\t\\u001F\u007f"');
    expect(textToJson('é')).toBe('"\u00c3\u00a9"');
    expect(bytesToJson(Buffer.of(0xff))).toBe('"\u00ff"');
  });

  test('answers', () => {
    expect(answerToJson({ a: [1, 2n ** 63n, 'x'], b: undefined, c: null, d: true })).toBe(
      '{"a":[1,9223372036854775808,"x"],"c":null,"d":true}',
    );
  });
});
