import { describeTier } from '@zerohop/test-support';
import { region } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import type { ModelDefinition } from '../../src/index.js';
import { codeOf, faultServer, ints, sender, WAYS } from '../support/fault-server.js';
import { ShmObject } from '../support/shm-object.js';

const X = [{ name: 'X', data_type: 'TYPE_INT32', dims: [-1n] }] as const;
const Y = [{ name: 'Y', data_type: 'TYPE_INT32', dims: [-1n] }] as const;
const echo: ModelDefinition = {
  config: { input: X, output: Y },
  execute: ({ inputs: { X: input } }) => ({ Y: input as { shape: readonly number[]; data: Int32Array } }),
};

function chainOf(model_name: string, labels?: ModelDefinition['labels']): ModelDefinition {
  const step = [{ model_name, model_version: -1n, input_map: { X: 'X' }, output_map: { Y: 'Y' } }];
  const config = { platform: 'ensemble', input: X, output: Y, ensemble_scheduling: { step } };
  return labels === undefined ? { config } : { config, labels };
}

const models: Record<string, ModelDefinition> = {
  echo: { ...echo, labels: { Y: ['eins', 'zwei'] } },
  plain: chainOf('echo'),
  labelled: chainOf('echo', { Y: ['one', 'two'] }),
  nested: chainOf('plain'),
};

describeTier('contract', 'ensembles', () => {
  test.each(WAYS)(
    '%s: classification of an output, with labels of its own or of the model that made it',
    async (way) => {
      const { server } = await faultServer({ models });
      const { send } = sender(server, way);
      const classes = async (model: string) => {
        const result = await send(model, { ...ints(1, 2, 3), outputs: { Y: { classification: 2 } } });
        const { shape, datatype } = result.output('Y');
        return [datatype, shape, result.output('Y').strings()];
      };
      expect(await classes('plain')).toEqual(['BYTES', [2], ['3:2', '2:1:zwei']]);
      expect(await classes('labelled')).toEqual(['BYTES', [2], ['3:2', '2:1:two']]);
    },
  );

  test.each(WAYS)('%s: regions, and an output that would be a view of one', async (way) => {
    const { server } = await faultServer({ models });
    const { client, send } = sender(server, way);
    const object = new ShmObject(4096);
    object.fillPart(0, Int32Array.of(7));
    await client.systemSharedMemory.register({ name: 'block', key: object.key, byteLength: 4096 });
    const input = { inputs: { X: region('block', { datatype: 'INT32', shape: [1] }) } };
    expect((await send('plain', input)).output('Y').data).toEqual(Int32Array.of(7));
    const into = (byteLength: number) => ({ outputs: { Y: { region: 'block', byteOffset: 64, byteLength } } });
    await send('nested', { ...input, ...into(4) });
    expect(object.bytes()[64]).toBe(7);
    expect(await codeOf(send('nested', { ...input, ...into(2) }))).toBe('TRITON_INTERNAL');
    await client.systemSharedMemory.unregister('block');
  });
});
