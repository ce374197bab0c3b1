import { describe, expect, test } from 'vitest';
import { decodeStreamAnswer } from '../../src/grpc/decode.js';
import { type InferParameter, ModelStreamInferResponse } from '../../src/grpc/gen/grpc_service.js';
import { RepeatedAnswers } from '../../src/grpc/repeated-answers.js';
import { tensor } from '../../src/index.js';
import { answer, FINAL, floatBytes, floats, MORE } from '../support/answers.js';

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

  test('floats of 16 and 32 bits are read as numbers, at any alignment', () => {
    const values = [1.5, -0.25, 65504, 0];
    for (const datatype of ['FP16', 'BF16', 'FP32'] as const) {
      const data = tensor(datatype, [4], values).data;
      const encoded = answer([{ name: 'a', datatype, shape: [4n] }], [data]);
      for (const shift of [0, 1]) {
        const message = Buffer.alloc(encoded.length + shift);
        encoded.copy(message, shift);
        const output = decodeStreamAnswer(message.subarray(shift)).result.output('a');
        expect(output.float32()).toEqual(Float32Array.of(1.5, -0.25, datatype === 'BF16' ? 65536 : 65504, 0));
      }
    }
  });

  test('BYTES elements are views; text that is no UTF-8 shows as U+FFFD', () => {
    const data = tensor('BYTES', [2], [Uint8Array.of(0xff, 0x41), 'é']).data;
    const message = answer([{ name: 'a', datatype: 'BYTES', shape: [2n] }], [data]);
    const output = decodeStreamAnswer(message).result.output('a');
    expect(output.elements().map((element) => [...element])).toEqual([
      [0xff, 0x41],
      [0xc3, 0xa9],
    ]);
    expect(output.elements()[0]?.buffer).toBe(message.buffer);
    expect(output.strings()).toEqual(['\ufffdA', 'é']);
  });

  test('an empty output has data and no elements', () => {
    const message = answer(
      [
        { name: 'a', datatype: 'FP32', shape: [0n, 4n] },
        { name: 'b', datatype: 'BYTES', shape: [0n] },
      ],
      [new Uint8Array(0), new Uint8Array(0)],
    );
    const { result } = decodeStreamAnswer(message);
    expect(result.output('a').data).toEqual(new Float32Array(0));
    expect(result.output('b').elements()).toEqual([]);
  });

  test('an output in a region has a shape and no bytes, and says where they are', () => {
    const region = { region: 'slot', byteOffset: 256, byteLength: 16 };
    const asked = ['a', 'b'].map((name) => ({ name, region }));
    const message = answer(
      [
        { name: 'a', datatype: 'FP32', shape: [4n] },
        { name: 'b', datatype: 'BYTES', shape: [1n] },
      ],
      [new Uint8Array(0), new Uint8Array(0)],
    );
    const byId = (id: string) => (id === 'id-1' ? asked : []);
    for (const { result } of [
      decodeStreamAnswer(message, asked),
      decodeStreamAnswer(message, byId),
      new RepeatedAnswers(asked).read(message),
    ]) {
      const [a, b] = [result.output('a'), result.output('b')];
      expect([a.shape, a.bytes.byteLength]).toEqual([[4], 0]);
      for (const read of [() => a.data, () => a.float32(), () => b.elements(), () => b.strings()]) {
        expect(read).toThrow(TypeError);
        expect(read).toThrow(
          expect.objectContaining({
            code: 'ERR_OUTPUT_IN_REGION',
            message: expect.stringContaining("lies in region 'slot' from byte 256 on, as asked for: read it there"),
          }),
        );
      }
      expect(() => b.data).toThrow('is BYTES: read it by strings() or elements()');
    }
  });

  test('an output in the message that the model gave no bytes is an answer that cannot be read', () => {
    const message = answer([{ name: 'a', datatype: 'FP32', shape: [4n] }], [new Uint8Array(0)]);
    const output = decodeStreamAnswer(message, [{ name: 'a' }]).result.output('a');
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
    expect(() => result.output('a').elements()).toThrow(TypeError);
    expect(() => result.output('b').float32()).toThrow(TypeError);
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

describe('RepeatedAnswers', () => {
  const plain = (id: string, parameters?: Record<string, InferParameter>) => {
    const message = answer([{ name: 'a', datatype: 'FP32', shape: [2n, 2n] }], [], parameters);
    message.write(id, message.indexOf('id-1'));
    return message;
  };

  test('reads an answer that repeats to the byte once, and any other anew', () => {
    const answers = new RepeatedAnswers([]);
    const first = answers.read(plain('id-1'));
    expect(answers.read(plain('id-1'))).toBe(first);
    const other = answers.read(plain('id-2'));
    expect([first.result.id, other.result.id]).toEqual(['id-1', 'id-2']);
    expect(answers.read(plain('id-1', { triton_final_response: MORE })).final).toBe(false);
    expect(answers.read(plain('id-1')).final).toBe(true);
  });

  test('does not keep errors, and what it shares cannot be changed', () => {
    const answers = new RepeatedAnswers([]);
    const failed = Buffer.from(
      ModelStreamInferResponse.encode({ errorMessage: 'no', inferResponse: undefined }).finish(),
    );
    expect(answers.read(failed)).not.toBe(answers.read(failed));
    const { result } = answers.read(plain('id-1'));
    expect(() => (result.output('a').shape as number[]).push(1)).toThrow(TypeError);
    expect(() => (result.outputs as unknown[]).pop()).toThrow(TypeError);
  });
});
