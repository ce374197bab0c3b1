import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeStreamAnswer } from '../../src/decode.js';
import { type InferParameter, ModelStreamInferResponse } from '../../src/gen/grpc_service.js';
import { TritonError, tensor } from '../../src/index.js';
import { RepeatedAnswers } from '../../src/repeated-answers.js';

const FINAL: InferParameter = { parameterChoice: { $case: 'boolParam', value: true } };
const MORE: InferParameter = { parameterChoice: { $case: 'boolParam', value: false } };

interface Output {
  name: string;
  datatype: string;
  shape: bigint[];
}

function answer(
  outputs: readonly Output[],
  raw: Uint8Array[],
  parameters: Record<string, InferParameter> = {},
): Buffer {
  return Buffer.from(
    ModelStreamInferResponse.encode({
      errorMessage: '',
      inferResponse: {
        modelName: 'm',
        modelVersion: '3',
        id: 'id-1',
        parameters,
        outputs: outputs.map((output) => ({ ...output, parameters: {} })),
        rawOutputContents: raw,
      },
    }).finish(),
  );
}

const floats = Float32Array.of(1, 2.5, -3, 4);
const floatBytes = new Uint8Array(floats.buffer);

describe('decodeStreamAnswer', () => {
  test('reads every field', () => {
    const { error, final, result } = decodeStreamAnswer(
      answer(
        [
          { name: 'a', datatype: 'FP32', shape: [2n, 2n] },
          { name: 'b', datatype: 'BYTES', shape: [2n] },
        ],
        [floatBytes, tensor('BYTES', [2], ['x', 'déjà']).data],
        {
          triton_final_response: FINAL,
          big: { parameterChoice: { $case: 'int64Param', value: -(2n ** 62n) } },
          unsigned: { parameterChoice: { $case: 'uint64Param', value: 2n ** 64n - 1n } },
          small: { parameterChoice: { $case: 'int64Param', value: -5n } },
          half: { parameterChoice: { $case: 'doubleParam', value: 0.5 } },
          text: { parameterChoice: { $case: 'stringParam', value: 't' } },
        },
      ),
    );
    expect([error, final]).toEqual([undefined, true]);
    expect([result.model, result.version, result.id]).toEqual(['m', '3', 'id-1']);
    expect(result.parameters).toEqual({
      triton_final_response: true,
      big: -(2n ** 62n),
      unsigned: 2n ** 64n - 1n,
      small: -5,
      half: 0.5,
      text: 't',
    });
    expect(result.outputs.map(({ name, datatype, shape }) => [name, datatype, shape])).toEqual([
      ['a', 'FP32', [2, 2]],
      ['b', 'BYTES', [2]],
    ]);
    expect(result.output('a').data).toEqual(floats);
    expect(result.output('b').strings()).toEqual(['x', 'déjà']);
  });

  test('bytes are a view of the message; data is right at any alignment', () => {
    const encoded = answer([{ name: 'a', datatype: 'FP32', shape: [4n] }], [floatBytes]);
    for (let shift = 0; shift < 4; shift += 1) {
      const message = Buffer.alloc(encoded.length + shift);
      encoded.copy(message, shift);
      const output = decodeStreamAnswer(message.subarray(shift)).result.output('a');
      expect(output.bytes.buffer).toBe(message.buffer);
      expect(output.data).toEqual(floats);
    }
  });

  test('an output in a region has a shape and no bytes', () => {
    const message = answer([{ name: 'a', datatype: 'FP32', shape: [4n] }], [new Uint8Array(0)]);
    const output = decodeStreamAnswer(message).result.output('a');
    expect([output.shape, output.bytes.byteLength]).toEqual([[4], 0]);
    expect(() => output.data).toThrow(
      expect.objectContaining({
        code: 'TRITON_MALFORMED_RESPONSE',
        message: expect.stringContaining('needs 16 bytes'),
      }),
    );
  });

  test('the wrong reading is refused', () => {
    const { result } = decodeStreamAnswer(
      answer(
        [
          { name: 'a', datatype: 'FP32', shape: [4n] },
          { name: 'b', datatype: 'BYTES', shape: [3n] },
        ],
        [floatBytes, tensor('BYTES', [2], ['x', 'y']).data],
      ),
    );
    expect(() => result.output('a').strings()).toThrow(TypeError);
    expect(() => result.output('b').data).toThrow(TypeError);
    expect(() => result.output('b').strings()).toThrow(/does not hold 3 elements/);
    expect(() => result.output('c')).toThrow("The answer of model 'm' has no output 'c'; its outputs: 'a', 'b'");
  });

  test('a failure has a text, and says whether more follows', () => {
    const failed = (parameters: Record<string, InferParameter>) =>
      decodeStreamAnswer(
        Buffer.from(
          ModelStreamInferResponse.encode({
            errorMessage: 'boom',
            inferResponse: {
              modelName: '',
              modelVersion: '',
              id: 'q',
              parameters,
              outputs: [],
              rawOutputContents: [],
            },
          }).finish(),
        ),
      );
    expect(failed({})).toMatchObject({ error: 'boom', final: true });
    expect(failed({ triton_final_response: MORE })).toMatchObject({ error: 'boom', final: false });
    expect(failed({}).result.id).toBe('q');
  });

  test('an empty message is an empty answer', () => {
    const { error, result } = decodeStreamAnswer(Buffer.alloc(0));
    expect([error, result.model, result.outputs]).toEqual([undefined, '', []]);
  });
});

/** Everything that an answer can be asked. */
function readAll(message: Buffer): void {
  const { result } = decodeStreamAnswer(message);
  for (const output of result.outputs) {
    if (output.datatype === 'BYTES') output.strings();
    else output.data;
  }
  result.parameters;
}

function expectTyped(message: Buffer): void {
  try {
    readAll(message);
  } catch (error) {
    expect(error).toBeInstanceOf(TritonError);
    expect((error as TritonError).code).toBe('TRITON_MALFORMED_RESPONSE');
  }
}

describe('hostile bytes give a TritonError or an answer, nothing else', () => {
  const whole = answer(
    [
      { name: 'a', datatype: 'FP32', shape: [4n] },
      { name: 'b', datatype: 'BYTES', shape: [2n] },
    ],
    [floatBytes, tensor('BYTES', [2], ['x', 'y']).data],
    { triton_final_response: FINAL },
  );

  test('every truncation', () => {
    for (let length = 0; length < whole.length; length += 1) expectTyped(whole.subarray(0, length));
  });

  test('every byte replaced', () => {
    for (let at = 0; at < whole.length; at += 1) {
      for (const byte of [0x00, 0x01, 0x7f, 0x80, 0xff]) {
        const damaged = Buffer.from(whole);
        damaged[at] = byte;
        expectTyped(damaged);
      }
    }
  });

  test('noise', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => expectTyped(Buffer.from(noise))),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['a datatype that is not one', answer([{ name: 'a', datatype: 'FP7', shape: [1n] }], [new Uint8Array(4)])],
    ['a dimension of -1', answer([{ name: 'a', datatype: 'FP32', shape: [-1n] }], [floatBytes])],
    ['a dimension past 2^53', answer([{ name: 'a', datatype: 'FP32', shape: [2n ** 60n] }], [floatBytes])],
    ['fewer contents than outputs', answer([{ name: 'a', datatype: 'FP32', shape: [4n] }], [floatBytes, floatBytes])],
    ['a length past the end', Buffer.of(0x12, 0xff, 0xff, 0xff, 0xff, 0x0f)],
    ['a varint without end', Buffer.alloc(40, 0xff)],
  ])('%s', (_, message) => {
    expect(() => readAll(message)).toThrow(
      expect.objectContaining({ code: 'TRITON_MALFORMED_RESPONSE', method: 'ModelInfer' }),
    );
  });

  test('names of the prototype are names like others', () => {
    const { result } = decodeStreamAnswer(answer([], [], { constructor: FINAL }));
    expect(Object.hasOwn(result.parameters, 'constructor')).toBe(true);
  });
});

describe('RepeatedAnswers', () => {
  const plain = (id: string, parameters?: Record<string, InferParameter>) => {
    const message = answer([{ name: 'a', datatype: 'FP32', shape: [2n, 2n] }], [], parameters);
    message.write(id, message.indexOf('id-1'));
    return message;
  };

  test('reads an answer that repeats to the byte once, and any other anew', () => {
    const answers = new RepeatedAnswers();
    const first = answers.read(plain('id-1'));
    expect(answers.read(plain('id-1'))).toBe(first);
    const other = answers.read(plain('id-2'));
    expect([first.result.id, other.result.id]).toEqual(['id-1', 'id-2']);
    expect(answers.read(plain('id-1', { triton_final_response: MORE })).final).toBe(false);
    expect(answers.read(plain('id-1')).final).toBe(true);
  });

  test('does not keep errors, and what it shares cannot be changed', () => {
    const answers = new RepeatedAnswers();
    const failed = Buffer.from(
      ModelStreamInferResponse.encode({ errorMessage: 'no', inferResponse: undefined }).finish(),
    );
    expect(answers.read(failed)).not.toBe(answers.read(failed));
    const { result } = answers.read(plain('id-1'));
    expect(() => (result.output('a').shape as number[]).push(1)).toThrow(TypeError);
    expect(() => (result.outputs as unknown[]).pop()).toThrow(TypeError);
  });
});
