import { expect, test } from 'vitest';
import type { ModelDefinition, ModelRequest } from '../../src/index.js';
import { faultServer, sender } from '../support/fault-server.js';

const TENSOR = { data_type: 'TYPE_INT32', dims: [2n] } as const;
type Samples = NonNullable<NonNullable<ModelDefinition['config']>['model_warmup']>;

function warmed(model_warmup: Samples, code: Pick<ModelDefinition, 'execute' | 'create'>, more = {}): ModelDefinition {
  return {
    config: { input: [{ name: 'X', ...TENSOR }], output: [{ name: 'Y', ...TENSOR }], model_warmup, ...more },
    ...code,
  };
}

const zeros = { X: { ...TENSOR, zero_data: true } };

async function serverOf(m: ModelDefinition) {
  const { server } = await faultServer({ modelControl: 'explicit', models: { m } });
  const { client } = sender(server, 'unary');
  const load = () =>
    client.loadModel('m').then(
      () => 'OK',
      ({ details }) => details as string,
    );
  const state = async () => (await client.repositoryIndex()).find(({ name }) => name === 'm');
  return { client, load, state };
}

test('a model is not ready before its samples have run, count times on each instance', async () => {
  const requests: ModelRequest[] = [];
  const waiting: (() => void)[] = [];
  const execute = async (request: ModelRequest) => {
    requests.push(request);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return { Y: { shape: [2], data: Int32Array.of(1, 2) } };
  };
  const samples: Samples = [{ name: 'w', batch_size: 1, count: 2, inputs: zeros }];
  const { client, load, state } = await serverOf(warmed(samples, { execute }, { instance_group: [{ count: 2 }] }));
  const loading = load();
  await expect.poll(() => waiting.length).toBe(2);
  expect([(await state())?.state, await client.isModelReady('m')]).toEqual(['LOADING', false]);
  for (const resolve of waiting.splice(0)) resolve();
  await expect.poll(() => waiting.length).toBe(2);
  for (const resolve of waiting) resolve();
  expect(await loading).toBe('OK');
  expect((await state())?.state).toBe('READY');
  expect(requests.map(({ inputs }) => [inputs.X?.shape, inputs.X?.data])).toEqual(
    Array.from({ length: 4 }, () => [[2], Int32Array.of(0, 0)]),
  );
  expect((await client.modelStatistics('m'))[0]).toMatchObject({ inferenceCount: 4, executionCount: 4 });
});

test('random numbers; none at all without a batch size', async () => {
  const seen: string[] = [];
  const execute = ({ inputs: { X } }: ModelRequest) => {
    seen.push(String(X?.data));
    return { Y: X as { shape: readonly number[]; data: Int32Array } };
  };
  const random = { X: { ...TENSOR, random_data: true } };
  const { load } = await serverOf(
    warmed(
      [
        { name: 'r', batch_size: 1, inputs: random },
        { name: 's', batch_size: 1, inputs: random },
        { name: 'no', inputs: zeros },
      ],
      { execute },
    ),
  );
  expect(await load()).toBe('OK');
  expect([seen.length, new Set(seen).size]).toEqual([2, 2]);
});

test('a sample that fails makes the version unavailable, and what was made is closed', async () => {
  let closed = 0;
  const create = () => ({
    execute: () => {
      throw Object.assign(new Error('too cold'), { code: 'UNAVAILABLE' });
    },
    close: () => {
      closed += 1;
    },
  });
  const { load, state } = await serverOf(
    warmed([{ name: 'w', batch_size: 2, inputs: zeros }], { create }, { max_batch_size: 2 }),
  );
  const reason = "Invalid argument: failed to run warmup sample 'w': too cold; too cold; ";
  expect(await load()).toBe(`load failed for model 'm': version 1 is at UNAVAILABLE state: ${reason};\n`);
  expect([await state(), closed]).toEqual([{ name: 'm', version: '1', state: 'UNAVAILABLE', reason }, 1]);
});

test('a file, which a model in code has no folder for', async () => {
  const file = { X: { ...TENSOR, input_data_file: 'data' } };
  const { load } = await serverOf(warmed([{ name: 'w', batch_size: 1, inputs: file }], { execute: () => ({}) }));
  expect(await load()).toContain('failed to open text file for read data: a model in code has no folder');
});
