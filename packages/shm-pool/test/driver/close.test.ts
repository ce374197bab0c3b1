/** The end of a pool whose device has failed or is still at work, or whose server is gone. */
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Device, type DeviceMemory, type Stream } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { type Lease, TensorPool } from '../../src/index.js';
import { FakeError, FakeTriton, identity } from '../support/fake-triton.js';
import { ours, removeOurEntries } from '../support/names.js';
import { gate } from '../support/pool-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

afterEach(removeOurEntries);

const peerless = () =>
  Promise.resolve({
    read: () => Promise.reject(new Error('not opened')),
    write: () => Promise.reject(new Error('not opened')),
    close: () => undefined,
  });

const options = { model: 'identity', slots: 1, transport: 'cuda', serverDeviceId: 0 } as const;

async function lend(ordinal: number): Promise<{ server: FakeTriton; pool: TensorPool; lease: Lease; stream: Stream }> {
  const server = new FakeTriton({ identity }, peerless);
  const pool = await TensorPool.open(server, { ...options, device: await Device.open(ordinal) });
  const lease = await pool.acquire();
  const { stream } = lease;
  if (stream === undefined) throw new Error('No stream');
  return { server, pool, lease, stream };
}

describeTier('driver', 'close', () => {
  test('with a request unanswered and work on the stream that goes on: ends, and says what was waited for', async () => {
    const { server, pool, lease, stream } = await lend(0);
    const answer = gate();
    server.gate = answer.opened;
    const reply = lease.infer().catch((error: unknown) => error);
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '5000000';
    stream.fill(lease.output('OUT').memory as DeviceMemory, 1);
    onTestFinished(() => {
      delete process.env.ZEROHOP_FAKE_WORK_DELAY_US;
    });
    let isOver = false;
    const over = stream.done().then(() => {
      isOver = true;
    });
    const { unproven } = await pool.close({ timeoutMs: 0 });
    expect(isOver).toBe(false);
    expect(unproven).toMatchObject([{ reason: 'the time to wait for the server was over' }]);
    expect(stream.closed).toBe(true);
    answer.open();
    await over;
    await reply;
  });

  test('of a slot that leaves while the server is away: the memory waits for the server, and is not lost', async () => {
    const server = new FakeTriton({ identity }, peerless);
    const pool = await TensorPool.open(server, { ...options, slots: 2 });
    server.down = new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
    const resized = pool.resize(1);
    // A shm object is freed after a second.
    await sleep(1500);
    expect(pool.stats.retired).toBe(0);
    server.down = undefined;
    await resized;
    expect(pool.stats).toMatchObject({ size: 1, retired: 0 });
    expect(server.regionNames).toHaveLength(1);
    expect(await pool.close()).toEqual({ unproven: [] });
  });

  test('with a server that is gone: the stream is given back, although nothing is proven', async () => {
    const { server, pool, lease, stream } = await lend(0);
    lease.release();
    server.down = new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
    const { unproven } = await pool.close();
    expect(unproven).toMatchObject([{ reason: 'the server cannot be reached' }]);
    expect(stream.closed).toBe(true);
  });

  // Last on its device: a context does not recover.
  test('with a lease out whose device has failed: the region is given up, and reported', async () => {
    const { server, pool, lease } = await lend(1);
    const [region] = server.regionNames;
    process.env.ZEROHOP_FAKE_WORK_FAIL = '700';
    await expect(lease.input('IN').write(new Float32Array(256))).rejects.toThrow(/CUDA_ERROR/);
    delete process.env.ZEROHOP_FAKE_WORK_FAIL;
    const { unproven } = await pool.close({ timeoutMs: 0 });
    expect(unproven).toMatchObject([{ region, reason: expect.stringContaining('CUDA_ERROR') as unknown }]);
    expect(pool.stats.retired).toBe(1);
    expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(1);
  });
});
