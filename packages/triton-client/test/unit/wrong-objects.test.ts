import { afterAll, expect, test } from 'vitest';
import { region, TritonClient, tensor } from '../../src/index.js';

/** Nothing is sent: every call ends with its arguments. */
const client = new TritonClient('grpc://127.0.0.1:1', { connectTimeoutMs: 100 });
afterAll(() => client.close());

const inputs = { a: tensor('FP32', [1], [1]) };

test.each<[string, string, (wrong: never) => unknown]>([
  ['a request', 'request', (wrong) => client.infer('m', wrong)],
  ['a request to prepare', 'request', (wrong) => client.prepare('m', wrong)],
  ['inputs', 'inputs', (wrong) => client.infer('m', { inputs: wrong })],
  ['outputs', 'outputs', (wrong) => client.infer('m', { inputs, outputs: wrong })],
  ['parameters', 'parameters', (wrong) => client.infer('m', { inputs, parameters: wrong })],
  ['a sequence', 'sequence', (wrong) => client.infer('m', { inputs, sequence: wrong })],
  ['options of a call', 'options', (wrong) => client.infer('m', { inputs }, wrong)],
  ['options of a control call', 'options', (wrong) => client.isLive(wrong)],
  ['options of the index', 'options', (wrong) => client.repositoryIndex(wrong)],
  ['options of loading', 'options', (wrong) => client.loadModel('m', wrong)],
  ['options of unloading', 'options', (wrong) => client.unloadModel('m', wrong)],
  ['a system region', 'region', (wrong) => client.systemSharedMemory.register(wrong)],
  ['a CUDA region', 'region', (wrong) => client.cudaSharedMemory.register(wrong)],
  ['options of region()', 'options', (wrong) => region('r', wrong)],
  ['options of a client', 'options', (wrong) => new TritonClient('grpc://h:1', wrong)],
])('%s: what is no object is named', async (_, name, call) => {
  for (const wrong of [null, 5, 'x', []]) {
    const made = async () => call(wrong as never);
    await expect(made()).rejects.toThrow(new RegExp(`^Expected object for ${name} but received `));
  }
});

test.each<[string, string, () => unknown]>([
  [
    'an option of a client',
    "lanes, .* for a field of options but received 'timeot'",
    () => new TritonClient('grpc://h:1', { timeot: 1 } as never),
  ],
  [
    'of tls',
    "ca, cert, key, serverName for a field of tls but received 'cacert'",
    () => new TritonClient('grpcs://h:1', { tls: { cacert: '' } } as never),
  ],
  [
    'of keepalive',
    "for a field of keepalive but received 'time'",
    () => new TritonClient('grpc://h:1', { keepalive: { time: 1 } } as never),
  ],
  [
    'of retry',
    "for a field of retry but received 'attempt'",
    () => new TritonClient('grpc://h:1', { retry: { attempt: 2 } } as never),
  ],
  [
    'a field of a request',
    "for a field of request but received 'output'",
    () => client.infer('m', { inputs, output: {} } as never),
  ],
  [
    'of a request to prepare',
    "for a field of request but received 'params'",
    () => client.prepare('m', { inputs, params: {} } as never),
  ],
  [
    'of a sequence',
    "id, start, end for a field of sequence but received 'begin'",
    () => client.infer('m', { inputs, sequence: { id: 1, begin: true } } as never),
  ],
  [
    'of an output',
    "for a field of output 'b' but received 'clasification'",
    () => client.infer('m', { inputs, outputs: { b: { clasification: 1 } } } as never),
  ],
  [
    'an option of a stream',
    "onError for a field of options but received 'maxOutstandig'",
    () => client.stream('m', [{ inputs }], { maxOutstandig: 1 } as never),
  ],
  [
    'an option of region()',
    "for a field of options but received 'offset'",
    () => region('r', { datatype: 'FP32', shape: [1], offset: 4 } as never),
  ],
])('%s that there is not is named', (_, message, use) => {
  expect(use).toThrow(TypeError);
  expect(use).toThrow(new RegExp(message));
});

test.each([
  [Float32Array.of(1, 2), 'Float32Array(2)'],
  [[1, 2], '[1, 2]'],
  [5, '5'],
])('a bare array as an input is told how a tensor is made: %s', (input, shown) => {
  expect(() => client.infer('m', { inputs: { a: input as never } })).toThrow(
    `Expected tensor(datatype, shape, data) or region(name, …) for input 'a' but received ${shown} of type `,
  );
});

test('what cannot be turned into text is refused all the same', () => {
  const hostile = new Proxy([], {
    get() {
      throw new Error('trap');
    },
  });
  expect(() => tensor('FP32', hostile, [1])).toThrow();
  expect(() => client.infer(hostile as never, { inputs })).toThrow(TypeError);
});
