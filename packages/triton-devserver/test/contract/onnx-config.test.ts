import { readdirSync } from 'node:fs';
import { describeTier } from '@zerohop/test-support';
import { tensor } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import { sessionOptions } from '../../src/backends/onnx/session-options.js';
import { parseTextFormat } from '../../src/config/text-format.js';
import { type OnnxValue, onnxFile } from '../support/onnx-file.js';
import { folderOf, serve } from '../support/onnx-models.js';

/** A file with an input `X` and an output `Y` of these dimensions. */
function fileOf(x: OnnxValue['dims'], y: OnnxValue['dims'] = x, inputs: readonly OnnxValue[] = []): Uint8Array {
  return onnxFile({
    inputs: [{ name: 'X', type: 'FP32', dims: x }, ...inputs],
    outputs: [{ name: 'Y', type: 'FP32', dims: y }],
    nodes: [{ op: 'Identity', in: ['X'], out: ['Y'] }],
  });
}

/** The same in a configuration. */
const io = (dims: string, { type = 'TYPE_FP32', x = 'X', y = 'Y' } = {}) =>
  `backend: "onnxruntime" input [ { name: "${x}" data_type: ${type} dims: [ ${dims} ] } ]
   output [ { name: "${y}" data_type: ${type} dims: [ ${dims} ] } ]\n`;

/** How one model comes up that is made of a file and a configuration: READY, or why not. */
async function outcome(file: Uint8Array, config: string): Promise<string> {
  const modelRepository = folderOf({ 'm/1/model.onnx': file, 'm/config.pbtxt': config });
  const { client } = await serve({ modelRepository, exitOnError: false });
  const [{ state, reason } = {}] = await client.repositoryIndex();
  return reason === undefined || reason === '' ? String(state) : reason;
}

describeTier('contract', 'the configuration of an ONNX model', () => {
  test('is made of the file where there is none, with batches of 4 where each first dimension is free', async () => {
    const modelRepository = folderOf({
      'batches/1/model.onnx': fileOf(['n', 3, 'width']),
      'one/1/model.onnx': fileOf([1, 3]),
      'half/1/model.onnx': fileOf(['n', 3], [2, 3]),
      'vector/1/model.onnx': fileOf(['n']),
      'scalar/1/model.onnx': fileOf([]),
      'largest/1/model.onnx': fileOf(['n', 3]),
      'largest/config.pbtxt': 'max_batch_size: 32',
      'single/1/model.onnx': fileOf(['n', 3]),
      'single/config.pbtxt': 'max_batch_size: 1',
      'sequence/1/model.onnx': fileOf(['n', 3]),
      'sequence/config.pbtxt': 'sequence_batching {}',
      'input_only/1/model.onnx': fileOf(['n', 3]),
      'input_only/config.pbtxt': 'input [ { name: "X" data_type: TYPE_FP32 dims: [ 3 ] } ]',
      'complete/1/model.onnx': fileOf(['n', 3]),
      'complete/config.pbtxt': io('-1, 3'),
    });
    const { server } = await serve({ modelRepository });
    const tensors = (dims: number[]) => ({
      input: [{ name: 'X', data_type: 'TYPE_FP32', dims }],
      output: [{ name: 'Y', data_type: 'TYPE_FP32', dims }],
    });
    const dynamic = { dynamic_batching: { preferred_batch_size: [4] } };
    const expected = {
      batches: { max_batch_size: 4, ...tensors([3, -1]), ...dynamic },
      one: { max_batch_size: 0, ...tensors([1, 3]) },
      half: { max_batch_size: 0, input: [{ dims: [-1, 3] }], output: [{ dims: [2, 3] }] },
      vector: { max_batch_size: 4, input: [{ dims: [1], reshape: { shape: [] } }], ...dynamic },
      scalar: { max_batch_size: 0, ...tensors([1]) },
      largest: { max_batch_size: 32, ...tensors([3]), dynamic_batching: { preferred_batch_size: [32] } },
      single: { max_batch_size: 1, ...tensors([3]) },
      sequence: { max_batch_size: 4, ...tensors([3]), sequence_batching: {} },
      input_only: { max_batch_size: 4, ...tensors([3]), ...dynamic },
      complete: { max_batch_size: 0, ...tensors([-1, 3]) },
    };
    const rest = { backend: 'onnxruntime', platform: 'onnxruntime_onnx', default_model_filename: 'model.onnx' };
    for (const [name, config] of Object.entries(expected)) {
      const shown = (await (await fetch(`${server.httpUrl}/v2/models/${name}/config`)).json()) as object;
      expect({ name, ...shown }).toMatchObject({ name, ...rest, ...config });
      expect('dynamic_batching' in shown).toBe('dynamic_batching' in config);
    }
  });

  test('that does not fit the file keeps the model from starting, in the words of the real backend', async () => {
    const file = fileOf(['n', 3]);
    const invalid = (text: string) => `Invalid argument: ${text}`;
    const control = (kind: string, name: string) =>
      `sequence_batching { control_input [ { name: "${name}" control [ { kind: ${kind} fp32_false_true: [ 0, 1 ] } ] } ] }`;
    const cases: readonly (readonly [Uint8Array, string, string])[] = [
      [file, io('-1, 3'), 'READY'],
      // An input may be narrower than the file's, an output may not.
      [fileOf(['n', 3], ['k', 3]), io('-1, 3').replace('-1', '2'), 'READY'],
      [file, io('-1, 3', { x: 'IMAGE' }), invalid("unexpected inference input 'IMAGE', allowed inputs are: X")],
      [file, io('-1, 3', { y: 'Z' }), invalid("unexpected inference output 'Z', allowed outputs are: Y")],
      [
        file,
        io('-1, 3', { type: 'TYPE_INT32' }),
        invalid(
          "unable to load model 'm', configuration expects datatype TYPE_INT32 for input 'X', model provides TYPE_FP32",
        ),
      ],
      [
        file,
        io('-1, 3', { type: 'TYPE_BF16' }),
        "Internal: unsupported datatype TYPE_BF16 for input 'X' for model 'm'",
      ],
      [
        file,
        io('-1, 4'),
        invalid(
          "model 'm', tensor 'X': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 2 dimensions (shape [-1,4])",
        ),
      ],
      [
        file,
        io('3'),
        invalid(
          "model 'm', tensor 'X': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 1 dimensions (shape [3])",
        ),
      ],
      [
        file,
        `${io('4')} max_batch_size: 8`,
        invalid(
          "model 'm', tensor 'X': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 2 dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,4])",
        ),
      ],
      [
        fileOf([1, 3]),
        `${io('3')} max_batch_size: 8`,
        invalid(
          "model 'm', tensor 'X': for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is [1,3]",
        ),
      ],
      [
        fileOf([1, 3]),
        'backend: "onnxruntime" max_batch_size: 8',
        invalid(
          "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified",
        ),
      ],
      [
        fileOf([]),
        io('2'),
        invalid(
          "unable to load model 'm', scalar tensor 'X', should only provide 1 in the model configuration when the model doesn't support batching. Model configuration provided: [2].",
        ),
      ],
      [
        fileOf(['n', 3], undefined, [{ name: 'MORE', type: 'FP32', dims: [1] }]),
        io('-1, 3'),
        invalid("unable to load model 'm', configuration expects 1 inputs, model provides 2"),
      ],
      [
        file,
        io('-1, 3') + control('CONTROL_SEQUENCE_START', 'START'),
        "Internal: configuration specified sequence control 'START', but model does not provide that input",
      ],
      [
        fileOf(['n', 3], undefined, [{ name: 'START', type: 'FP32', dims: ['n', 2] }]),
        `${io('3')} max_batch_size: 4 ${control('CONTROL_SEQUENCE_START', 'START')}`,
        invalid("unable to load model 'm', sequence control 'START' in model has dims [2] but dims [1] is expected"),
      ],
      [
        file,
        io('-1, 3').replace('dims', 'optional: true dims'),
        "Unsupported: model 'm': the devserver's ONNX models have no optional inputs, which onnxruntime-node has no way to give",
      ],
      [
        file,
        `${io('-1, 3')} parameters { key: "intra_op_thread_count" value { string_value: "many" } }`,
        invalid("failed to convert 'many' to integral number"),
      ],
      // Another backend's code may do with the file what it likes.
      [file, io('7', { x: 'A', y: 'B' }).replace('onnxruntime', 'python'), 'READY'],
    ];
    for (const [bytes, config, expected] of cases) {
      expect({ config, is: await outcome(bytes, config) }).toEqual({ config, is: expected });
    }
  });

  test('says how the session runs', () => {
    const of = (text: string) => sessionOptions(parseTextFormat(text, '2.51.0'));
    const parameter = (key: string, value: string) =>
      `parameters { key: "${key}" value { string_value: "${value}" } }\n`;
    const none = { graphOptimizationLevel: 'all', executionMode: 'sequential' };
    expect(of('')).toEqual(none);
    expect(of('optimization { graph { level: -1 } }')).toEqual({ ...none, graphOptimizationLevel: 'basic' });
    expect(of('optimization { graph { level: 1 } }')).toEqual({ ...none, graphOptimizationLevel: 'extended' });
    expect(of('optimization { graph { level: 2 } }')).toEqual({ ...none, graphOptimizationLevel: 'disabled' });
    const all = {
      execution_mode: '1',
      intra_op_thread_count: '3',
      inter_op_thread_count: '2x',
      enable_mem_arena: 'False',
      enable_mem_pattern: '1',
    };
    const text = Object.entries(all).map(([key, value]) => parameter(key, value));
    expect(of(text.join(''))).toEqual({
      graphOptimizationLevel: 'all',
      executionMode: 'parallel',
      intraOpNumThreads: 3,
      interOpNumThreads: 2,
      enableCpuMemArena: false,
      enableMemPattern: true,
    });
    expect(of(parameter('intra_op_thread_count', '0'))).toEqual(none);
    expect(() => of(parameter('execution_mode', '2'))).toThrow(
      'Expected values for  execution_mode are 0 or 1 but got 2',
    );
    expect(() => of(parameter('enable_mem_arena', 'maybe'))).toThrow("failed to convert 'maybe' to boolean");
  });

  test('decides about the level of optimization and the number of threads', async () => {
    const [w, c] = [Math.fround(0.1), Math.fround(0.3)];
    const constant = (name: string, dims: number[], value: number) =>
      ({ name, type: 'FP32', dims, data: new Uint8Array(Float32Array.of(value).buffer) }) as const;
    // An optimizer makes one factor of the two, which is rounded at another place.
    const file = onnxFile({
      inputs: [{ name: 'X', type: 'FP32', dims: [1, 1, 1, 64] }],
      outputs: [{ name: 'Y', type: 'FP32', dims: [1, 1, 1, 64] }],
      nodes: [
        { op: 'Conv', in: ['X', 'W'], out: ['P'] },
        { op: 'Mul', in: ['P', 'C'], out: ['Y'] },
      ],
      constants: [constant('W', [1, 1, 1, 1], w), constant('C', [1, 1, 1], c)],
    });
    const modelRepository = folderOf({
      'all/1/model.onnx': file,
      'none/1/model.onnx': file,
      'none/config.pbtxt': 'optimization { graph { level: 2 } }',
    });
    const { client } = await serve({ modelRepository });
    const values = Float32Array.from({ length: 64 }, (_, at) => 1 + at / 7);
    const given = async (model: string) => {
      const X = tensor('FP32', [1, 1, 1, 64], values);
      return (await client.infer(model, { inputs: { X } })).output('Y').data;
    };
    const once = values.map((x) => x * Math.fround(w * c));
    const twice = values.map((x) => Math.fround(x * w) * c);
    expect(once).not.toEqual(twice);
    expect(await given('all')).toEqual(once);
    expect(await given('none')).toEqual(twice);
    const threads = () => readdirSync('/proc/self/task').length;
    const threadsOf = async (count: number) => {
      const parameters = `parameters { key: "intra_op_thread_count" value { string_value: "${count}" } }`;
      const files = { 'm/1/model.onnx': fileOf([1]), 'm/config.pbtxt': io('1') + parameters };
      const { server } = await serve({ modelRepository: folderOf(files) });
      const during = threads();
      await server.stop();
      return during - threads();
    };
    expect((await threadsOf(9)) - (await threadsOf(1))).toBe(8);
  });
});
