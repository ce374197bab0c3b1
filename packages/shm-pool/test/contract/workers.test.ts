import { expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { type FakeModel, FakeTriton } from '../support/fake-triton.js';
import { code, pattern } from '../support/pool-suite.js';
import { describeWorkers } from '../support/worker-suite.js';

const makeServer = (models?: Readonly<Record<string, FakeModel>>) => new FakeTriton(models);

describeWorkers({ transport: 'system', makeServer });

test("'bytes' blocks have no handle, and the error says what to do", async () => {
  const pool = await TensorPool.open(makeServer(), { model: 'identity', slots: 1, transport: 'bytes' });
  await pool.run(async (lease) => {
    const block = lease.input('IN');
    expect(() => block.handle).toThrow(code('ERR_BLOCK_LOCAL'));
    expect(() => block.handle).toThrow(/'IN'.*post a copy.*transport 'system'/);
    await block.write(pattern(1));
    const reply = await lease.infer();
    expect(() => reply.output('OUT').handle).toThrow(code('ERR_BLOCK_LOCAL'));
  });
  await pool.close();
});
