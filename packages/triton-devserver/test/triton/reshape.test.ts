import { describeTier, privateTriton } from '@zerohop/test-support';
import { TritonClient, tensor } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { folderOf, serve } from '../support/onnx-models.js';

const CONFIG = (batch: number, dims: string, reshape: string) => `backend: "python" max_batch_size: ${batch}
input [ { name: "X" data_type: TYPE_FP32 dims: [ ${dims} ] reshape { shape: [ ${reshape} ] } } ]
output [
  { name: "Y" data_type: TYPE_FP32 dims: [ ${dims} ] reshape { shape: [ ${reshape} ] } },
  { name: "SHAPE" data_type: TYPE_INT64 dims: [ -1 ] }
]
instance_group [ { kind: KIND_CPU } ]`;

const PYTHON = `import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            shape = np.array(x.shape, dtype=np.int64)
            if BATCHED: shape = shape.reshape(1, -1).repeat(x.shape[0], axis=0)
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x), pb_utils.Tensor("SHAPE", shape)]))
        return answers
`;

const JAVASCRIPT = `export default ({ inputs: { X } }) => {
  const one = X.shape.map(BigInt);
  const rows = BATCHED ? Array.from({ length: X.shape[0] }, () => one) : [one];
  const shape = BATCHED ? [rows.length, one.length] : [one.length];
  return { Y: X, SHAPE: { shape, data: BigInt64Array.from(rows.flat()) } };
};
`;

/** Batch size, dims, reshape, the shape of a request. */
const CASES: readonly [number, string, string, readonly number[]][] = [
  [4, '1', '', [3, 1]],
  [4, '2, 3', '6', [2, 2, 3]],
  [0, '2, 3', '3, 2', [2, 3]],
  [4, '-1, 2', '1, -1, 2, 1', [2, 5, 2]],
  [0, '2, 4, -1, 6', '8, -1, 1, 6', [2, 4, 3, 6]],
];

const REFUSED: readonly [number, string, string][] = [
  [0, '1', ''],
  [4, '2', ''],
  [4, '2, 3', '5'],
  [4, '2, -1', '6'],
  [4, '6', '-1'],
  [4, '-1, -1', '-1'],
  [4, '-1, 2, -1', '1, -1, -1, 2'],
  [4, '-1, 2', '3, -1, 2'],
];

describeTier('triton', 'a reshape in a configuration', () => {
  test('reaches the model and the answer as on a real server', async () => {
    const models = [...CASES, ...REFUSED];
    const files = models.flatMap(([batch, dims, reshape], index) => {
      const batched = batch > 0;
      return [
        [`m${index}/config.pbtxt`, CONFIG(batch, dims, reshape)],
        [`m${index}/1/model.py`, PYTHON.replace('BATCHED', batched ? 'True' : 'False')],
        [`m${index}/1/model.mjs`, JAVASCRIPT.replaceAll('BATCHED', String(batched))],
      ] as const;
    });
    const modelRepository = folderOf(Object.fromEntries(files));
    const { client } = await serve({ modelRepository, modelControl: 'explicit' });
    const real = await privateTriton({ modelRepository, modelControl: 'explicit' });
    onTestFinished(() => real.stop());
    const realClient = new TritonClient(real.grpcUrl);
    onTestFinished(() => realClient.close());
    for (const index of models.keys()) {
      const load = (at: TritonClient) =>
        at.loadModel(`m${index}`).then(
          () => 'loaded',
          (error: unknown) => (error as Error).message,
        );
      const loaded = await load(client);
      expect(loaded).toBe(await load(realClient));
      expect(loaded === 'loaded').toBe(index < CASES.length);
    }
    for (const [index, [, , , shape]] of CASES.entries()) {
      const length = shape.reduce((product, dim) => product * dim, 1);
      const X = tensor(
        'FP32',
        shape,
        Float32Array.from({ length }, (_, at) => at),
      );
      const answer = async (from: TritonClient) => {
        const { outputs } = await from.infer(`m${index}`, { inputs: { X } });
        return outputs.map(({ name, shape: got, data }) => ({ name, got, data }));
      };
      expect(await answer(client)).toEqual(await answer(realClient));
    }
  });
});
