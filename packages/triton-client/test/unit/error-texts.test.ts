import { describe, expect, test } from 'vitest';
import { codeOfText, withoutRequestId } from '../../src/error-texts.js';
import { codeOfStatus, partsOfText } from '../../src/errors.js';
import { TEXTS } from '../conformance/texts.js';

describe('the texts that servers give', () => {
  test.each(TEXTS.map((known) => [known.text, known] as const))('%s', (text, known) => {
    expect(codeOfText(withoutRequestId(text))).toBe(known.code);
    if (known.grpc !== undefined) expect(codeOfStatus(known.grpc, text)).toBe(known.code);
    const { region, output, requiredByteLength } = known;
    expect({ region: undefined, output: undefined, requiredByteLength: undefined, ...partsOfText(text) }).toEqual({
      region,
      output,
      requiredByteLength,
    });
  });

  test.each([
    ["Unable to find shared memory region: 'it's'", 'TRITON_NOT_FOUND', "it's"],
    ["Unable to find shared memory region: 'a\nb'", 'TRITON_NOT_FOUND', 'a\nb'],
    ["shared memory region 'a\nb' already in manager", 'TRITON_ALREADY_EXISTS', 'a\nb'],
    ["The region named 'a'\n' is registered as CUDA shared memory, not system", 'TRITON_NOT_FOUND', "a'\n"],
    ["Invalid offset + byte size for shared memory region: 'r''", 'TRITON_INVALID_ARGUMENT', "r'"],
    ["[request id: a\nb] input 'A\nB' already exists in request", 'TRITON_INVALID_ARGUMENT', undefined],
    ["Request for unknown model: 'a\nb' version 1 is not at ready state", 'TRITON_UNAVAILABLE', undefined],
  ])('names may have quotes and line breaks: %j', (text, code, region) => {
    expect(codeOfText(withoutRequestId(text))).toBe(code);
    expect(partsOfText(text).region).toBe(region);
  });

  test('an id that is known may hold what ends it in the text', () => {
    const text = '[request id: a] b] Exceeds maximum queue size';
    expect(withoutRequestId(text, 'a] b')).toBe('Exceeds maximum queue size');
    expect(withoutRequestId('[request id: <id_unknown>] Exceeds maximum queue size', '')).toBe(
      'Exceeds maximum queue size',
    );
  });

  test('an error of an ensemble has the code of what it tells of', () => {
    const text = "input byte size mismatch for input 'A' for model 'm'. Expected 8, got 0";
    expect(codeOfText(`in ensemble 'it's', ${text}`)).toBe('TRITON_INVALID_ARGUMENT');
    expect(codeOfText(`in ensemble 'a\nb', in ensemble 'c', ${text}`)).toBe('TRITON_INVALID_ARGUMENT');
    expect(codeOfText("in ensemble 'e', This model always fails")).toBeUndefined();
  });

  test('an output may have them too', () => {
    const text = "for output 'it's\n2' (16 bytes) should be at least 64 bytes to hold the results";
    expect(partsOfText(text)).toEqual({ output: "it's\n2", requiredByteLength: 64 });
  });

  test('a text has one entry', () => {
    expect(new Set(TEXTS.map(({ text }) => text)).size).toBe(TEXTS.length);
  });

  test.each([
    'This model always fails',
    'The request failed: Exceeds maximum queue size',
    'my input byte size mismatch for input',
    '',
  ])('words of a model have no code: %s', (text) => {
    expect(codeOfText(text)).toBeUndefined();
  });
});
