import { Device } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { PERSONALITIES, type Version } from '../../src/personality.js';
import { RegionTable } from '../../src/regions/region-table.js';
import { exported } from '../support/exporter.js';
import { outcomeOf } from '../support/outcome.js';
import { ShmObject } from '../support/shm-object.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

const MIB = 2 ** 20;
const ALLOCATION = 2 * MIB;

function open(version: Version = '2.51') {
  const crashes: string[] = [];
  const onCrash = (reason: string) => crashes.push(reason);
  const regions = new RegionTable(PERSONALITIES[version], { clientSharedMemory: true, onCrash });
  onTestFinished(() => regions.clear());
  const register = (name: string, rawHandle: Uint8Array, byteSize: number | bigint, deviceId = 0n) =>
    outcomeOf('grpc', () => regions.registerCuda({ name, rawHandle, deviceId, byteSize: BigInt(byteSize) }));
  return { regions, register, crashes };
}

const done = { code: 0, value: undefined };
const refused = { code: 3, text: 'failed to register shared memory region: invalid args' };

describeTier('driver', 'CUDA regions', () => {
  test('are read and written where the client has them, from the offset of a use on', async () => {
    const { regions, register } = open();
    const client = await exported(0, ALLOCATION, 7);
    expect(await register('g', client.rawHandle, MIB)).toEqual(done);
    const input = regions.use('g', 1024n, 16n);
    expect(await input.read()).toEqual(new Uint8Array(16).fill(7));
    const output = regions.use('g', 8n, 8n);
    await output.write(Uint8Array.of(1, 2, 3));
    expect([...(await client.read(13))]).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 1, 2, 3, 7, 7]);
    input.release();
    output.release();
  });

  test('status, and one space of names with the system regions', async () => {
    const { regions, register } = open();
    const client = await exported(1, ALLOCATION);
    const { key } = new ShmObject(4096);
    await regions.registerSystem({ name: 's', key, offset: 0n, byteSize: 4096n });
    expect(await register('s', client.rawHandle, 8, 1n)).toEqual({
      code: 6,
      text: "shared memory region 's' already in manager",
    });
    expect(await register('g', client.rawHandle, 8, 1n)).toEqual(done);
    expect(regions.cudaStatus('')).toEqual([{ name: 'g', deviceId: 1n, byteSize: 8n }]);
    expect(await outcomeOf('grpc', () => regions.systemStatus('g'))).toEqual({
      code: 5,
      text: "The region named 'g' is registered as CUDA shared memory, not system shared memory",
    });
    expect(
      await outcomeOf('grpc', () => regions.registerSystem({ name: 'g', key, offset: 0n, byteSize: 8n })),
    ).toMatchObject({ code: 6 });
    regions.unregisterSystem('');
    await regions.unregisterCuda('g');
    expect(regions.cudaStatus('')).toEqual([]);
    expect(await outcomeOf('grpc', () => regions.cudaStatus('g'))).toEqual({
      code: 5,
      text: "Unable to find cuda shared memory region: 'g'",
    });
  });

  test('handles that are refused', async () => {
    const { register } = open();
    const client = await exported(0, ALLOCATION);
    const device = await Device.open(0);
    await using own = await device.alloc(MIB, { exportable: true });
    expect(await register('g', own.exportIpc().rawHandle, 8), 'of this process').toEqual(refused);
    expect(await register('g', new Uint8Array(64), 8), 'forged').toEqual(refused);
    expect(await register('g', client.rawHandle.slice(0, 10), 8), 'short').toEqual(refused);
    expect(await register('g', client.rawHandle, 8, 1n), "another GPU's").toEqual(refused);
    // A real server reads 64 bytes of what gRPC brings.
    expect(await register('g', Buffer.concat([client.rawHandle, Buffer.alloc(36)]), 8), 'long').toEqual(done);
  });

  test('a size that the allocation does not have is refused, and the handle is given back', async () => {
    const { register } = open();
    const client = await exported(0, ALLOCATION);
    const text = "failed to register shared memory region 'g': invalid args";
    for (const byteSize of [BigInt(ALLOCATION) + 1n, 2n ** 53n, 2n ** 64n - 1n]) {
      expect(await register('g', client.rawHandle, byteSize)).toEqual({ code: 3, text });
    }
    expect(await register('g', client.rawHandle, ALLOCATION)).toEqual(done);
  });

  test('an ordinal that is none is ignored: the GPU is the one that was used last', async () => {
    const { regions, register } = open();
    const first = await exported(0, ALLOCATION);
    const second = await exported(1, ALLOCATION);
    expect(await register('a', second.rawHandle, 8, 99n)).toEqual(refused);
    expect(await register('a', first.rawHandle, 8, -5n)).toEqual(done);
    expect(await register('b', second.rawHandle, 8, 1n)).toEqual(done);
    expect(await register('c', first.rawHandle, 8, 99n)).toEqual(refused);
    // An int64 that becomes an int.
    expect(await register('c', first.rawHandle, 8, 2n ** 32n)).toEqual(done);
    expect(regions.cudaStatus('a')).toMatchObject([{ deviceId: -5n }]);
  });

  test('a second name for a handle works', async () => {
    const { regions, register } = open();
    const client = await exported(0, ALLOCATION, 5);
    for (const name of ['a', 'b']) expect(await register(name, client.rawHandle, 64)).toEqual(done);
    await regions.unregisterCuda('a');
    expect(await regions.use('b', 0n, 2n).read()).toEqual(Uint8Array.of(5, 5));
  });

  test('in use: 2.51 refuses, 2.53 defers', async () => {
    const client = await exported(0, ALLOCATION);
    const strict = open('2.51');
    expect(await strict.register('g', client.rawHandle, 64)).toEqual(done);
    const use = strict.regions.use('g', 0n, 8n);
    expect(await outcomeOf('grpc', () => strict.regions.unregisterCuda('g'))).toEqual({
      code: 13,
      text: "Cannot unregister shared memory region 'g', it is currently in use.",
    });
    expect(await outcomeOf('grpc', () => strict.regions.unregisterCuda(''))).toEqual({
      code: 13,
      text: 'Failed to unregister the following cuda shared memory regions: g ,',
    });
    use.release();
    await strict.regions.unregisterCuda('g');

    const later = open('2.53');
    expect(await later.register('g', client.rawHandle, 64)).toEqual(done);
    const pending = later.regions.use('g', 0n, 8n);
    await later.regions.unregisterCuda('g');
    await pending.write(Uint8Array.of(3));
    expect(later.regions.cudaStatus('')).toHaveLength(1);
    pending.release();
    expect(later.regions.cudaStatus('')).toEqual([]);
    expect([...(await client.read(1))]).toEqual([3]);
  });

  test('an output whose size has wrapped does not reach beyond the allocation', async () => {
    const { regions, register } = open();
    const client = await exported(0, ALLOCATION);
    expect(await register('g', client.rawHandle, ALLOCATION)).toEqual(done);
    const use = regions.use('g', BigInt(ALLOCATION - 4), -8n);
    expect(await outcomeOf('grpc', () => use.write(new Uint8Array(8)))).toEqual({
      code: 13,
      text: 'failed to use CUDA copy : invalid argument',
    });
    expect(await outcomeOf('grpc', () => use.write(new Uint8Array(4)))).toEqual(done);
  });

  test('clear closes what is open, and writes of what was in flight are lost', async () => {
    const { regions, register, crashes } = open();
    const client = await exported(0, ALLOCATION, 1);
    expect(await register('g', client.rawHandle, 64)).toEqual(done);
    const use = regions.use('g', 0n, 8n);
    await regions.clear();
    await use.write(Uint8Array.of(9));
    expect([...(await client.read(1))]).toEqual([1]);
    expect(crashes).toEqual([]);
    expect(await register('g', client.rawHandle, 64)).toEqual(done);
  });
});
