import { expect, test } from 'vitest';
import { SharedRegion, TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { code } from '../support/pool-suite.js';

// Also on a machine that has a driver.
process.env.ZEROHOP_LIBCUDA = '/dev/null';

test("without a GPU 'auto' goes without access for kernels, and a system slot asked for by name is refused", async () => {
  const options = { model: 'identity', slots: 1, deviceAccess: true };
  const refused = TensorPool.open(new FakeTriton(), { ...options, transport: 'system' });
  await expect(refused).rejects.toThrow(code('ERR_CUDA_UNAVAILABLE'));
  await using pool = await TensorPool.open(new FakeTriton(), options);
  expect(pool.transport).toBe('system');
  await pool.run((lease) => {
    expect(lease.stream).toBeUndefined();
    expect(lease.input('IN').deviceMemory).toBeUndefined();
  });
});

test('a region for kernels is refused without a GPU', async () => {
  const refused = SharedRegion.allocate(new FakeTriton(), { kind: 'system', byteLength: 16, deviceAccess: true });
  await expect(refused).rejects.toThrow(code('ERR_CUDA_UNAVAILABLE'));
});
