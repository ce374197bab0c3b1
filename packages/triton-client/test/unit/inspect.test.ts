import { inspect } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { decodeStreamAnswer } from '../../src/grpc/decode.js';
import { decodeHttpAnswer } from '../../src/http/decode.js';
import { TritonClient, TritonError } from '../../src/index.js';
import { StreamAnswerResult } from '../../src/stream-result.js';
import { answer, FINAL, floatBytes } from '../support/answers.js';

const client = new TritonClient('grpc://127.0.0.1:1');
afterAll(() => client.close());

const message = answer(
  [
    { name: 'a', datatype: 'FP32', shape: [2n, 2n] },
    { name: 'b', datatype: 'FP32', shape: [4n] },
  ],
  [floatBytes, new Uint8Array(0)],
  { triton_final_response: FINAL },
);
const asked = [{ name: 'a' }, { name: 'b', region: { region: 'slot', byteOffset: 256, byteLength: 16 } }];
const { result } = decodeStreamAnswer(message, asked);

test('an answer is shown with its outputs and where they are, without their elements', () => {
  expect(inspect(result, { breakLength: Infinity })).toBe(
    "InferResult { model: 'm', version: '3', id: 'id-1', parameters: { triton_final_response: true }, outputs: [ " +
      "InferOutput { name: 'a', datatype: 'FP32', shape: [ 2, 2 ], byteLength: 16 }, " +
      "InferOutput { name: 'b', datatype: 'FP32', shape: [ 4 ], region: 'slot', byteOffset: 256 } ] }",
  );
  expect(inspect({ deep: { result } }, { depth: 1 })).toBe('{ deep: { result: [InferResult] } }');
  expect(inspect([result], { depth: 0 })).toBe('[ [InferResult] ]');
  expect(inspect(result, { depth: null })).toContain("region: 'slot'");
});

test('one of a stream with its request, or its error', () => {
  expect(inspect(new StreamAnswerResult(3, true, result), { depth: 0 })).toBe(
    'StreamResult { requestIndex: 3, final: true, result: [InferResult] }',
  );
  const error = new TritonError('no', { code: 'TRITON_INTERNAL', method: 'ModelInfer', details: 'no' });
  expect(inspect(new StreamAnswerResult(3, false, result, error))).toMatch(
    /^StreamResult \{\n {2}requestIndex: 3,\n {2}final: false,\n {2}error: TritonError: no\n[\s\S]*code: 'TRITON_INTERNAL'/,
  );
});

test('one that cannot be read is shown all the same', () => {
  expect(inspect(decodeHttpAnswer(Buffer.from('{"model_name":1,"outputs":[]}'), undefined))).toBe(
    "InferResult {\n  unreadable: 'The answer to ModelInfer cannot be read: model_name is no text'\n}",
  );
});

test('a client with its address, an error with its fields', () => {
  expect(inspect(client)).toBe("TritonClient { url: 'grpc://127.0.0.1:1', peer: undefined, closed: false }");
  const fields = { code: 'TRITON_NOT_FOUND', method: 'ModelInfer', details: 'd', region: 'r' } as const;
  expect(inspect(new TritonError('gone', fields))).toMatch(
    /^TritonError: gone\n[\s\S]*\{\n {2}code: 'TRITON_NOT_FOUND',\n {2}method: 'ModelInfer',\n {2}details: 'd',\n {2}region: 'r'\n\}$/,
  );
});
