import { describeTier } from '@zerohop/test-support';
import { region } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import type { ModelDefinition, ModelTensor } from '../../src/index.js';
import { clientOf, faultServer, ints } from '../support/fault-server.js';
import { ShmObject } from '../support/shm-object.js';

const INTS = { data_type: 'TYPE_INT32', dims: [-1n] } as const;
const X = [{ name: 'X', ...INTS }];
const Y = [{ name: 'Y', ...INTS }];
/** Of INT32: what is copied, and what a model sees in place. */
const COUNTS = [4, 2 ** 19];

/** An ensemble of one step, whose own input is an output too. */
const through = (model: string): ModelDefinition => ({
  config: {
    platform: 'ensemble',
    input: X,
    output: [...Y, { name: 'X', ...INTS }],
    ensemble_scheduling: {
      step: [{ model_name: model, model_version: -1n, input_map: { X: 'X' }, output_map: { Y: 'Y' } }],
    },
  },
});

async function start() {
  const { server, gate } = await faultServer({
    models: {
      later: {
        config: { input: X, output: Y },
        execute: async (request) => {
          await gate.wait(request);
          return { Y: { ...(request.inputs.X as ModelTensor & { data: Int32Array }) } };
        },
      },
      around: through('same'),
      aroundLater: through('later'),
    },
  });
  const client = clientOf(server.grpcUrl);
  const put = async (name: string, count: number, value: number) => {
    const byteLength = 4 * count;
    const object = new ShmObject(new Uint8Array(new Int32Array(count).fill(value).buffer));
    await client.systemSharedMemory.register({ name, key: object.key, byteLength });
    const write = (next: number) => object.fillPart(0, new Int32Array(count).fill(next));
    return { object, write, input: region(name, { datatype: 'INT32', shape: [count] }) };
  };
  return { server, gate, client, put };
}

const all = (value: number) => (each: number) => each === value;

describeTier(
  'contract',
  'inputs in regions',
  () => {
    test.each(COUNTS)('of %i numbers: a write before the model looks is seen', async (count) => {
      const { gate, client, put } = await start();
      for (const model of ['later', 'aroundLater']) {
        const { write, input } = await put(model, count, 1);
        const answer = client.infer(model, { inputs: { X: input } });
        await expect.poll(() => gate.waiting).toBe(1);
        write(2);
        gate.open();
        expect(((await answer).output('Y').data as Int32Array).every(all(2)), model).toBe(true);
      }
    });

    test.each(COUNTS)('of %i numbers, passed through into the answer: no later write changes it', async (count) => {
      const { client, server, put } = await start();
      const { write, input } = await put('block', count, 1);
      for (const model of ['same', 'around']) {
        const answers = Array.from({ length: 8 }, () => client.infer(model, { inputs: { X: input } }));
        const overHttp = clientOf(server.httpUrl).infer(model, { inputs: { X: input } });
        // Whichever it sees, it is one of them as a whole.
        for (let value = 2; value < 50; value += 1) {
          write(value);
          await new Promise((resolve) => setImmediate(resolve));
        }
        for (const answer of [...answers, overHttp]) {
          const { outputs } = await answer;
          for (const { data } of outputs) {
            const seen = data as Int32Array;
            expect(seen.every(all(seen[0] as number)), model).toBe(true);
          }
        }
      }
    });

    test('a model that looks when its request is over gets an error', async () => {
      let kept: ModelTensor | undefined;
      const { server } = await faultServer({
        models: {
          keeps: {
            config: { input: X, output: Y },
            execute: ({ inputs }) => {
              kept = inputs.X;
              return { Y: { shape: [0], data: new Int32Array(0) } };
            },
          },
        },
      });
      const client = clientOf(server.grpcUrl);
      const object = new ShmObject(16);
      await client.systemSharedMemory.register({ name: 'block', key: object.key, byteLength: 16 });
      await client.infer('keeps', { inputs: { X: region('block', { datatype: 'INT32', shape: [4] }) } });
      expect(() => kept?.data).toThrow('is over');
      await client.systemSharedMemory.unregister('block');
      expect(() => kept?.data).toThrow('is over');
      expect((await client.infer('same', ints(1))).output('Y').data).toEqual(Int32Array.of(1));
    });
  },
  { needs: ['addon'] },
);
