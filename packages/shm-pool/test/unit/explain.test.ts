import { expect, test } from 'vitest';
import { explainPath, type Path } from '../../src/explain.js';
import { factsOf } from '../../src/model-facts.js';

const facts = (config: Partial<Parameters<typeof factsOf>[1]> = {}) =>
  factsOf('detector', {
    backend: 'onnxruntime',
    maxBatchSize: 8,
    decoupled: false,
    instanceGroups: [{ kind: 'KIND_GPU', gpus: [0] }],
    parameters: {},
    raw: {},
    ...config,
  });

const OUTPUT = 'backend: every output once, from where the model left it into the output block';
const OUTPUT_BY_MESSAGE = "backend: every output once, from where the model left it into the answer's message";
const WRITE = {
  system: 'client: by write() and read() between',
  cuda: 'client: by write() and read() between your array and the GPU',
};
const TO_GPU = 'server: every input from the host to the GPU';
const TO_HOST = 'server: every input from the GPU to the host';

/** Each copy begins with one of these words, in this order. */
test.for<[string, Path['transport'], Parameters<typeof facts>[0], readonly string[]]>([
  ['a GPU model by device memory', 'cuda', {}, [WRITE.cuda, OUTPUT]],
  ['a GPU model by shared memory', 'system', {}, [WRITE.system, TO_GPU, OUTPUT]],
  [
    'a GPU model by messages',
    'bytes',
    {},
    ["client: every input into the request's message", 'network: every message', TO_GPU, OUTPUT_BY_MESSAGE],
  ],
  [
    'a CPU model by shared memory',
    'system',
    { instanceGroups: [{ kind: 'KIND_CPU', gpus: [] }] },
    [WRITE.system, OUTPUT],
  ],
  [
    'a CPU model by device memory',
    'cuda',
    { instanceGroups: [{ kind: 'KIND_CPU', gpus: [] }] },
    [WRITE.cuda, TO_HOST, OUTPUT],
  ],
  [
    'instances on another GPU too',
    'cuda',
    { instanceGroups: [{ kind: 'KIND_GPU', gpus: [0, 1] }] },
    [WRITE.cuda, 'server: every input from GPU 0 to GPU 1 of the server', OUTPUT],
  ],
  [
    'instances of which the backend decides',
    'cuda',
    { instanceGroups: [{ kind: 'KIND_MODEL', gpus: [] }] },
    [WRITE.cuda, OUTPUT],
  ],
  [
    'TensorRT',
    'cuda',
    { backend: 'tensorrt' },
    [WRITE.cuda, "backend: every input once, on the GPU, into the engine's bindings", OUTPUT],
  ],
  [
    'a Python model as it is by default',
    'cuda',
    { backend: 'python' },
    [WRITE.cuda, 'backend: every input from the GPU to the host', "backend: every output from the model's process"],
  ],
  [
    'a Python model that takes GPU tensors',
    'cuda',
    { backend: 'python', parameters: { FORCE_CPU_ONLY_INPUT_TENSORS: 'no' } },
    [WRITE.cuda, "backend: every output from the model's process"],
  ],
  [
    'a Python model by shared memory',
    'system',
    { backend: 'python', instanceGroups: [{ kind: 'KIND_CPU', gpus: [] }] },
    [WRITE.system, "backend: every output from the model's process"],
  ],
  [
    'a Python model on a GPU by shared memory, which moves its inputs itself',
    'system',
    { backend: 'python' },
    [WRITE.system, "backend: every output from the model's process"],
  ],
  [
    'a Python model on the CPU by device memory',
    'cuda',
    { backend: 'python', instanceGroups: [{ kind: 'KIND_CPU', gpus: [] }] },
    [WRITE.cuda, TO_HOST, "backend: every output from the model's process"],
  ],
  [
    'dynamic batching',
    'cuda',
    { raw: { dynamic_batching: {} } },
    [WRITE.cuda, 'server: the inputs of requests that are batched together', OUTPUT],
  ],
  ['dynamic batching of at most one', 'cuda', { maxBatchSize: 1, raw: { dynamic_batching: {} } }, [WRITE.cuda, OUTPUT]],
  [
    'a response cache by shared memory',
    'system',
    { raw: { response_cache: { enable: true } } },
    [WRITE.system, TO_GPU, 'server: a cached answer into the output block', OUTPUT],
  ],
  [
    'a response cache by device memory',
    'cuda',
    { raw: { response_cache: { enable: true } } },
    [WRITE.cuda, 'server: nothing from the cache, which never hits', OUTPUT],
  ],
  ['a response cache that is off', 'cuda', { raw: { response_cache: { enable: false } } }, [WRITE.cuda, OUTPUT]],
  [
    'an ensemble',
    'cuda',
    { backend: '', instanceGroups: [], raw: { ensemble_scheduling: { step: [] } } },
    [WRITE.cuda, 'server: the tensors between the steps'],
  ],
])('%s', ([, transport, config, expected]) => {
  const explained = explainPath({
    transport,
    serverDeviceId: transport === 'cuda' ? 0 : undefined,
    facts: facts(config),
  });
  const starts = explained.copies.map(({ copy, where }, index) =>
    `${where}: ${copy}`.slice(0, expected[index]?.length),
  );
  expect(starts).toEqual(expected);
  for (const { copy, why, where, remedy } of explained.copies) {
    expect(explained.text).toContain(
      `- ${where}: ${copy} (${why}${remedy === undefined ? '' : `; instead: ${remedy}`})`,
    );
  }
  expect(explained.text.split('\n')).toHaveLength(1 + expected.length);
});

test('without the whole configuration, what is not known is said', () => {
  const { raw: _, ...config } = {
    raw: {},
    backend: 'onnxruntime',
    maxBatchSize: 0,
    decoupled: false,
    instanceGroups: [],
    parameters: {},
  };
  const explained = explainPath({ transport: 'system', serverDeviceId: undefined, facts: factsOf('detector', config) });
  expect(explained.text).toMatch(/- not known: batching, cache and sequences/);
});

test("with 'bytes' nothing is said of blocks or slots: the server knows none", () => {
  const raw = { dynamic_batching: {}, response_cache: { enable: true } };
  for (const backend of ['onnxruntime', 'tensorrt', 'python']) {
    for (const kind of ['KIND_GPU', 'KIND_CPU']) {
      const given = facts({ backend, raw, instanceGroups: [{ kind, gpus: [] }] });
      const { text } = explainPath({ transport: 'bytes', serverDeviceId: undefined, facts: given });
      expect(text).toContain("into the answer's message");
      expect(text).not.toMatch(/\bblocks?\b|\bslots?\b/);
    }
  }
});
