import { writeFileSync } from 'node:fs';
import { seeded } from '@zerohop/test-support';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeStreamAnswer } from '../../src/grpc/decode.js';
import { TritonError, tensor } from '../../src/index.js';
import { answer, FINAL, floatBytes } from '../support/answers.js';

/** `pnpm soak client-hostile` asks for a million. */
const RUNS = Number(process.env.ZEROHOP_HOSTILE_ANSWERS ?? 20_000);
const SEED = Number(process.env.ZEROHOP_HOSTILE_SEED ?? 1);
/** Where the counts are to be written. */
const OUT = process.env.ZEROHOP_HOSTILE_OUT;

type Random = ReturnType<typeof seeded>;

/** A copy with one to four changes: bits turned, bytes set to what varints break at, pieces cut out, doubled or moved. */
function damage(message: Buffer, random: Random): Buffer {
  let bytes = Buffer.from(message);
  for (let changes = random.integer(1, 4); changes > 0 && bytes.length > 0; changes -= 1) {
    const at = random.integer(0, bytes.length - 1);
    const end = random.integer(at, bytes.length);
    const [before, piece, after] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
    switch (random.integer(0, 5)) {
      case 0:
        bytes[at] = (bytes[at] as number) ^ (1 << random.integer(0, 7));
        break;
      case 1:
        bytes[at] = [0x00, 0x01, 0x7f, 0x80, 0xff][random.integer(0, 4)] as number;
        break;
      case 2:
        bytes = Buffer.concat([before, after]);
        break;
      case 3:
        bytes = Buffer.concat([before, piece, piece, after]);
        break;
      case 4:
        bytes = Buffer.concat([after, before, piece]);
        break;
      default:
        bytes = Buffer.from(before);
    }
  }
  return bytes;
}

/** Everything that an answer can be asked. */
function readAll(message: Buffer): void {
  const { result } = decodeStreamAnswer(message);
  for (const output of result.outputs) {
    if (output.datatype === 'BYTES') output.strings();
    else output.data;
  }
  result.parameters;
}

function expectTyped(message: Buffer): 'answers' | 'errors' {
  try {
    readAll(message);
    return 'answers';
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    expect(error.code).toBe('TRITON_MALFORMED_RESPONSE');
    return 'errors';
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
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => void expectTyped(Buffer.from(noise))),
      { numRuns: 2000 },
    );
  });

  test(`${RUNS} answers damaged in several places`, { timeout: 20_000 + RUNS }, () => {
    const counts = { answers: 0, errors: 0 };
    const random = seeded(SEED);
    const wholes = [whole, whole.subarray(0, whole.length >> 1), answer([], [], { constructor: FINAL })];
    for (let run = 0; run < RUNS; run += 1) {
      const damaged = damage(wholes[run % wholes.length] as Buffer, random);
      try {
        counts[expectTyped(damaged)] += 1;
      } catch (error) {
        throw new Error(`run ${run} of seed ${SEED}: ${damaged.toString('hex')}`, { cause: error });
      }
    }
    expect(counts.errors).toBeGreaterThan(RUNS / 10);
    const result = { kind: 'soak-client-hostile', node: process.version, seed: SEED, inputs: RUNS, ...counts };
    if (OUT !== undefined) writeFileSync(OUT, `${JSON.stringify(result, null, 1)}\n`);
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
