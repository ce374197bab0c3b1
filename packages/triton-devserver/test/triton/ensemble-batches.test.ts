import { describeTier, privateTriton } from '@zerohop/test-support';
import { TritonClient, tensor } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { folderOf, serve } from '../support/onnx-models.js';

const TENSOR = (name: string) => `{ name: "${name}" data_type: TYPE_FP32 dims: [ -1, 2 ] }`;
const PART = `backend: "python"
input [ ${TENSOR('A')}, ${TENSOR('B')} ]
output [ ${TENSOR('C')}, ${TENSOR('D')} ]
instance_group [ { kind: KIND_CPU } ]`;
const ENSEMBLE = (part: string) => `platform: "ensemble"
input [ ${TENSOR('A')}, ${TENSOR('B')} ]
output [ ${TENSOR('C')}, ${TENSOR('D')} ]
ensemble_scheduling { step [ {
  model_name: "${part}" model_version: -1
  input_map [ { key: "A" value: "A" }, { key: "B" value: "B" } ]
  output_map [ { key: "C" value: "C" }, { key: "D" value: "D" } ]
} ] }`;
const batches = (most: number, config: string) => `max_batch_size: ${most}\n${config}`;

const PYTHON = `import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        names = (("A", "C"), ("B", "D"))
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor(out, pb_utils.get_input_tensor_by_name(r, name).as_numpy()) for name, out in names]
            )
            for r in requests
        ]
`;
const JAVASCRIPT = 'export default ({ inputs: { A, B } }) => ({ C: A, D: B });\n';

const part = (name: string, config: string) =>
  [
    [`${name}/config.pbtxt`, config],
    [`${name}/1/model.py`, PYTHON],
    [`${name}/1/model.mjs`, JAVASCRIPT],
  ] as const;

const FILES = Object.fromEntries([
  ...part('batched', batches(4, PART)),
  ...part('changing', batches(4, PART)),
  ['without/config.pbtxt', batches(0, ENSEMBLE('batched'))],
  ['with/config.pbtxt', batches(4, ENSEMBLE('changing'))],
  // A version needs its folder.
  ...['without', 'with'].map((name) => [`${name}/1/empty`, '']),
]);

const SHAPES: readonly (readonly [a: readonly number[], b: readonly number[]])[] = [
  [
    [3, 2],
    [5, 2],
  ],
  [
    [1, 3, 2],
    [1, 5, 2],
  ],
  [
    [2, 3, 2],
    [2, 5, 2],
  ],
  [
    [1, 1, 2],
    [1, 0, 2],
  ],
  [
    [0, 3, 2],
    [0, 5, 2],
  ],
];

/** What two servers have to have in common: each answer or refusal, word for word, while a part loses its batches. */
async function heard(client: TritonClient): Promise<unknown[]> {
  const said: unknown[] = [];
  const told = async (call: PromiseLike<unknown>) => {
    try {
      said.push(await call);
    } catch (error) {
      said.push((error as Error).message);
    }
  };
  const filled = (shape: readonly number[]) => {
    const length = shape.reduce((product, dim) => product * dim, 1);
    return tensor(
      'FP32',
      shape,
      Float32Array.from({ length }, (_, at) => at),
    );
  };
  const ask = async () => {
    for (const model of ['without', 'with']) {
      for (const [a, b] of SHAPES) {
        const answer = client.infer(model, { inputs: { A: filled(a), B: filled(b) } });
        await told(
          answer.then(({ outputs }) =>
            outputs
              .map(({ name, shape, data }) => ({ name, shape, data }))
              .sort((x, y) => x.name.localeCompare(y.name)),
          ),
        );
      }
    }
  };
  for (const model of ['without', 'with']) await told(client.loadModel(model));
  await ask();
  // Of two inputs that both are wrong a server names either.
  const tensors = (first: string, second: string) => [
    { name: first, data_type: 'TYPE_FP32', dims: [-1, 2] },
    { name: second, data_type: 'TYPE_FP32', dims: [-1, -1, 2] },
  ];
  const config = {
    backend: 'python',
    max_batch_size: 0,
    input: tensors('A', 'B'),
    output: tensors('C', 'D'),
    instance_group: [{ kind: 'KIND_CPU' }],
  };
  await told(client.loadModel('changing', { config }));
  await ask();
  return said;
}

describeTier('triton', 'an ensemble and its parts, where one has batches and the other none', () => {
  test.each(['2.51', '2.48'] as const)('answers and refuses as a real server %s', async (version) => {
    const modelRepository = folderOf(FILES);
    const { client } = await serve({ modelRepository, modelControl: 'explicit', version });
    const real = await privateTriton({ modelRepository, modelControl: 'explicit', version });
    onTestFinished(() => real.stop());
    const realClient = new TritonClient(real.grpcUrl);
    onTestFinished(() => realClient.close());
    const expected = await heard(realClient);
    expect(await heard(client)).toEqual(expected);
    expect(expected.filter((answer) => Array.isArray(answer)).length).toBeGreaterThan(5);
  });
});
