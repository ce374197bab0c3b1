import { expect, test } from 'vitest';
import { codeOf, faultServer, ints, sender } from '../support/fault-server.js';

test('an error that a model answers with counts as a success, one that it throws as a failure', async () => {
  const broken = {
    config: {
      input: [{ name: 'X', data_type: 'TYPE_INT32', dims: [-1n] }],
      output: [{ name: 'Y', data_type: 'TYPE_INT32', dims: [-1n] }],
    },
    execute: () => {
      throw new Error('a slip');
    },
  } as const;
  const { server } = await faultServer({ models: { broken } });
  const { client, send } = sender(server, 'unary');
  expect(await codeOf(send('failing', ints(1)))).toBe('TRITON_INTERNAL');
  expect(await codeOf(send('broken', ints(1)))).toBe('TRITON_INTERNAL');
  const counts = async (model: string) => {
    const [statistics] = await client.modelStatistics(model);
    return [statistics?.success.count, statistics?.fail.count];
  };
  expect(await counts('failing')).toEqual([1, 0]);
  expect(await counts('broken')).toEqual([0, 1]);
});
