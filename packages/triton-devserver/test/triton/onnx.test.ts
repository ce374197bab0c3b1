import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findTriton } from '@zerohop/local-triton';
import { describeTier, seeded } from '@zerohop/test-support';
import { type InferOutput, tensor } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { type Datatype, viewOf } from '../../src/datatype.js';
import { onnxFile } from '../support/onnx-file.js';
import { type Drawn, draw, GALLERY } from '../support/onnx-gallery.js';
import { folderOf, serve } from '../support/onnx-models.js';

const SCRIPT = join(import.meta.dirname, '../support/onnx_reference.py');
const REQUESTS_PER_MODEL = 20;

const NUMPY: Readonly<Partial<Record<Datatype, string>>> = {
  BOOL: 'bool',
  FP16: 'float16',
  FP32: 'float32',
  FP64: 'float64',
};
const numpyName = (type: Datatype) => (type === 'BYTES' ? type : (NUMPY[type] ?? type.toLowerCase()));

interface Written {
  readonly type: string;
  readonly shape: readonly number[];
  readonly data: string | readonly string[];
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
const written = (type: Datatype, shape: readonly number[], data: Drawn['data']): Written => ({
  type: numpyName(type),
  shape,
  data: data instanceof Uint8Array ? base64(data) : data.map(base64),
});
const writtenOutput = (output: InferOutput): Written =>
  written(
    output.datatype,
    output.shape,
    output.datatype === 'BYTES' ? output.elements() : new Uint8Array(output.bytes),
  );

const sentTensor = (type: Datatype, shape: readonly number[], data: Drawn['data']) => {
  const elements = type === 'BYTES' ? data : viewOf(type, data as Uint8Array);
  return tensor(type as 'BYTES', shape, elements as Uint8Array[]);
};

/** Python's onnxruntime, until the end of the test: a line asks, a line answers. */
async function python(): Promise<{ version: string; ask: (question: unknown) => Promise<Record<string, Written>> }> {
  const { python: program, environment } = await findTriton();
  const child = spawn(program, [SCRIPT], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('Python has ended');
    return JSON.parse(value) as Record<string, Written>;
  };
  const { version } = (await next()) as unknown as { version: string };
  const ask = (question: unknown) => {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    return next();
  };
  return { version, ask };
}

function numbers({ type, data }: Written): number[] {
  const bytes = new Uint8Array(Buffer.from(data as string, 'base64'));
  if (type === 'float64') return [...new Float64Array(bytes.buffer)];
  if (type === 'float32') return [...new Float32Array(bytes.buffer)];
  return Array.from(new Uint16Array(bytes.buffer), (bits) => {
    const size = (bits >> 10) & 31;
    const value = size === 0 ? (bits & 1023) * 2 ** -24 : (1 + (bits & 1023) / 1024) * 2 ** (size - 15);
    return bits >> 15 === 0 ? value : -value;
  });
}

/** The largest difference of two outputs, in itself or of the size of the number, whichever is less. */
function difference(one: Written, other: Written): number {
  const expected = numbers(other);
  return Math.max(
    0,
    ...numbers(one).map((value, at) => {
      const from = expected[at] ?? Number.NaN;
      const apart = Math.abs(value - from);
      return Object.is(value, from) ? 0 : Math.min(apart, apart / Math.abs(from));
    }),
  );
}

describeTier('triton', 'ONNX models here and in Python', () => {
  const seed = randomInt(2 ** 31);

  test(`give the same for the same inputs, drawn from ${seed}`, async () => {
    const random = seeded(seed);
    const names = Object.keys(GALLERY);
    const files = Object.entries(GALLERY).map(([name, { graph }]) => [`${name}/1/model.onnx`, onnxFile(graph)]);
    const folder = folderOf(Object.fromEntries(files));
    const { client } = await serve({ modelRepository: folder });
    const { ask } = await python();
    let compared = 0;
    for (const [name, model] of Object.entries(GALLERY)) {
      for (let left = REQUESTS_PER_MODEL; left > 0; left -= 1) {
        const inputs = draw(model, random);
        const sent = Object.entries(inputs).map(([input, { type, shape, data }]) => [
          input,
          sentTensor(type, shape, data),
        ]);
        const { outputs } = await client.infer(name, { inputs: Object.fromEntries(sent) });
        const asked = Object.entries(inputs).map(([input, { type, shape, data }]) => [
          input,
          written(type, shape, data),
        ]);
        const path = join(folder, name, '1/model.onnx');
        const expected = await ask({ path, inputs: Object.fromEntries(asked) });
        expect(outputs.map((output) => output.name).sort()).toEqual(Object.keys(expected).sort());
        for (const output of outputs) {
          const ours = writtenOutput(output);
          const theirs = expected[output.name] as Written;
          const where = { name, output: output.name, left };
          if (model.tolerance === 0 || !theirs.type.startsWith('float')) {
            expect({ ...where, ...ours }).toEqual({ ...where, ...theirs });
          } else {
            expect({ ...where, type: ours.type, shape: ours.shape }).toEqual({
              ...where,
              type: theirs.type,
              shape: theirs.shape,
            });
            expect(difference(ours, theirs)).toBeLessThanOrEqual(model.tolerance);
          }
          compared += 1;
        }
      }
    }
    expect(names.length * REQUESTS_PER_MODEL).toBeGreaterThanOrEqual(200);
    expect(compared).toBeGreaterThanOrEqual(names.length * REQUESTS_PER_MODEL);
  });
});
