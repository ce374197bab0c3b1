/** What can be wrong between two processes that share device memory, each from the condition itself. */
import { readdirSync } from 'node:fs';
import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { type PoolOptions, TensorPool } from '../../src/index.js';
import { entryOfRegion } from '../../src/names.js';
import { type DevicePeer, startDevicePeer } from '../support/device-peer.js';
import { FakeError, FakeTriton, identity } from '../support/fake-triton.js';
import { ours, removeOurEntries } from '../support/names.js';
import { code, roundTrip } from '../support/pool-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

const left = () => readdirSync('/dev/shm').filter(ours);

async function open(server: FakeTriton, options: Partial<PoolOptions> = {}): Promise<TensorPool> {
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, serverDeviceId: 0, ...options });
  onTestFinished(async () => {
    await pool.close();
    expect(left()).toEqual([]);
  });
  return pool;
}

/** A server whose side of CUDA is that peer. */
function withPeer(options: Parameters<typeof startDevicePeer>[0], tests: (server: () => FakeTriton) => void): void {
  let peer: DevicePeer;
  beforeAll(() => {
    peer = startDevicePeer(options);
  });
  afterAll(() => peer.end());
  tests(() => new FakeTriton({ identity }, peer.openHandle));
}

describeTier('driver', 'device memory that both sides see', () => {
  withPeer({}, (makeServer) => {
    test('is verified by an answer', async () => {
      const pool = await open(makeServer(), { verify: true });
      expect(pool.transport).toBe('cuda');
      expect(pool.verified).toBe(true);
      expect(pool.reason).toMatch(/; an answer was verified \(equal bytes\)$/);
      await pool.run((lease) => roundTrip(lease, 3));
    });
  });
});

/** A registration that nothing is read through. */
const peerless = () =>
  Promise.resolve({
    read: () => Promise.reject(new Error('not opened')),
    write: () => Promise.reject(new Error('not opened')),
    close: () => undefined,
  });

for (const broken of ['zeros', 'copy']) {
  describeTier('driver', `handles that open and show other memory (${broken}), as under WSL2`, () => {
    withPeer({ env: { ZEROHOP_FAKE_IPC: broken } }, (makeServer) => {
      test('are taken without verification', async () => {
        expect((await open(makeServer())).transport).toBe('cuda');
      });

      test('are refused with it, and auto moves on', async () => {
        const refused = open(makeServer(), { verify: true, transport: 'cuda' });
        await expect(refused).rejects.toThrow(code('ERR_VERIFY_FAILED'));
        await expect(refused).rejects.toThrow(/by cuda differs from the one by message/);
        expect(left()).toEqual([]);
        const pool = await open(makeServer(), { verify: true });
        expect(pool.transport).toBe('system');
        expect(pool.verified).toBe(true);
        expect(pool.reason).toMatch(/^system: .*verified \(equal bytes\); not cuda: An answer .* differs/);
        await pool.run((lease) => roundTrip(lease, 4));
      });
    });
  });
}

describeTier(
  'driver',
  'a server whose process id is ours, in a PID namespace of its own',
  () => {
    withPeer({ pid: process.pid }, (makeServer) => {
      test('is found out with the memory of another process, and nothing is left', async () => {
        const server = makeServer();
        const refused = open(server, { transport: 'cuda' });
        await expect(refused).rejects.toThrow(code('ERR_PID_COLLISION'));
        await expect(refused).rejects.toThrow(new RegExp(`its own process id is ours, ${process.pid}, .*--pid=host`));
        expect(server.regionNames).toEqual([]);
        expect(left()).toEqual([]);
      });

      test('auto moves on and says why', async () => {
        const pool = await open(makeServer());
        expect(pool.reason).toMatch(/^system: .*; not cuda: .*its own process id is ours/);
      });
    });
  },
  { needs: ['mount', 'root'] },
);

describeTier('driver', 'a server that opens no device memory at all', () => {
  const makeServer = () =>
    new FakeTriton({ identity }, () => {
      throw new FakeError('TRITON_INVALID_ARGUMENT', 'failed to register shared memory region: invalid args');
    });

  test('is refused with what the server needs, and nothing is left', async () => {
    const refused = open(makeServer(), { transport: 'cuda' });
    await expect(refused).rejects.toThrow(code('ERR_IPC_REFUSED'));
    await expect(refused).rejects.toThrow(/the same GPU, and a process id other than ours.*its log names the cause/);
    expect(left()).toEqual([]);
  });

  test('an abort ends the search for the cause, and a reaper finds what it may have registered', async () => {
    const controller = new AbortController();
    const server = makeServer();
    const names: string[] = [];
    const { register } = server.cudaSharedMemory;
    server.cudaSharedMemory.register = async (region) => {
      names.push(region.name);
      if (names.length === 2) {
        controller.abort(new Error('changed my mind'));
        return new Promise(() => undefined);
      }
      return register(region);
    };
    await expect(open(server, { transport: 'cuda', signal: controller.signal })).rejects.toThrow('changed my mind');
    expect(names.map((name) => entryOfRegion(name) !== undefined)).toEqual([true, true]);
    expect(left()).toEqual([]);
  });
});

describeTier('driver', 'a server', () => {
  test('without GPU support', async () => {
    const refused = open(new FakeTriton({ identity }), { transport: 'cuda' });
    await expect(refused).rejects.toThrow(code('ERR_CUDA_UNAVAILABLE'));
  });

  test('that takes no regions: one cause for both transports, told once, and no memory is offered', async () => {
    const server = new FakeTriton({ identity }, peerless);
    server.state = 'disabled';
    const pool = await open(server);
    expect(pool.reason).toBe(
      'bytes: tensors travel in the messages; not cuda and not system: The server refuses client shared memory: start it with --allow-client-shm=true',
    );
    expect(server.calls.register).toBe(0);
  });

  test("with instances on two GPUs: explained with the slots' ordinal there", async () => {
    const instanceGroups = [{ kind: 'KIND_GPU', gpus: [0, 1] }];
    const pool = await open(new FakeTriton({ identity: { ...identity, config: { instanceGroups } } }, peerless));
    expect(pool.explain().copies.map(({ copy }) => copy)).toContainEqual(
      expect.stringMatching(/^every input from GPU 0 to GPU 1 of the server/),
    );
  });
});

describeTier('driver', 'two servers behind one address', () => {
  afterAll(removeOurEntries);

  test('device memory that the second does not list may be open at the first: kept, and told', async () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    onTestFinished(() => emitted.mockRestore());
    const [first, second] = [new FakeTriton({ identity }, peerless), new FakeTriton({ identity })];
    first.cudaSharedMemory.status = second.cudaSharedMemory.status;
    first.cudaSharedMemory.unregister = second.cudaSharedMemory.unregister;
    const before = left().length;
    await expect(open(first, { transport: 'cuda' })).rejects.toThrow(code('ERR_SEVERAL_SERVERS'));
    expect(first.regionNames).toHaveLength(1);
    // Its entry stays for as long as the memory does.
    expect(left()).toHaveLength(before + 1);
    expect(emitted).toHaveBeenCalledWith(
      expect.stringContaining(`of region ${first.regionNames[0]} were given up`),
      expect.objectContaining({ code: 'ZEROHOP_RETIRED' }),
    );
  });
});
