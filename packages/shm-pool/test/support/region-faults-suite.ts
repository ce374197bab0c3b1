/** What a region of the caller's own does when the server or the connection fails, on a server that fails on demand. */
import { once } from 'node:events';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { type AllocateRegionOptions, type ClientCall, SharedRegion } from '../../src/index.js';
import { FakeError, type FakeTriton } from './fake-triton.js';
import { ours, removeOurEntries } from './names.js';
import { code, gate } from './pool-suite.js';

interface RegionFaultsSuite {
  readonly kind: 'cuda' | 'system';
  readonly makeServer: () => FakeTriton;
  readonly options?: Partial<AllocateRegionOptions>;
}

export function describeRegionFaults({ kind, makeServer, options = {} }: RegionFaultsSuite): void {
  describe(`faults of a SharedRegion on '${kind}'`, () => {
    afterAll(removeOurEntries);

    const byteLength = 2048;

    async function open(): Promise<{ server: FakeTriton; region: SharedRegion }> {
      const server = makeServer();
      const region = await SharedRegion.allocate(server, { kind, byteLength, ...options });
      onTestFinished(async () => {
        server.down = undefined;
        await region.release({ timeoutMs: 500 });
      });
      return { server, region };
    }

    const send = (server: FakeTriton, region: SharedRegion): ClientCall => {
      const call = server.infer('identity', {
        inputs: { IN: { datatype: 'FP32', shape: [4, 64], ...region.ref({ byteLength: 1024 }) } },
        outputs: { OUT: region.ref({ byteOffset: 1024 }) },
      });
      region.hold(call.settled);
      call.catch(() => undefined);
      return call;
    };

    /** A request whose connection is cut while the server is at it. */
    async function lose(server: FakeTriton, region: SharedRegion): Promise<{ finish(): void }> {
      const answer = gate();
      server.gate = answer.opened;
      const call = send(server, region);
      server.loseConnection();
      await expect(call).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
      return { finish: answer.open };
    }

    test.for(['2.51.0', '2.53.0'])(
      'server %s: a lost request is waited for, until its end is proven',
      async (version) => {
        const { server, region } = await open();
        server.version = version;
        const { finish } = await lose(server, region);
        const releasing = region.release();
        await expect.poll(() => server.calls.unregister).toBeGreaterThan(0);
        expect(server.regionNames).toEqual([region.name]);
        finish();
        expect(await releasing).toEqual({ proven: true });
        expect(server.regionNames).toEqual([]);
      },
    );

    test.for(['2.48.0', 'unknown'])('server %s: a lost request is never unregistered under', async (version) => {
      const { server, region } = await open();
      server.version = version;
      const { finish } = await lose(server, region);
      expect(await region.release()).toMatchObject({
        proven: false,
        reason: expect.stringContaining("does not count a region's users") as string,
      });
      expect(server.calls.unregister).toBe(0);
      expect(server.regionNames).toEqual([region.name]);
      finish();
    });

    test('a server that does not know the region proves nothing for a lost request', async () => {
      const { server, region } = await open();
      const { finish } = await lose(server, region);
      server.forgetRegions();
      expect(await region.release()).toMatchObject({ proven: false });
      finish();
    });

    test('a server that lost the region after every answer has let go of it', async () => {
      const { server, region } = await open();
      await send(server, region);
      server.forgetRegions();
      expect(await region.release()).toEqual({ proven: true });
    });

    test('a server that is away: not proven, and proven by a later call', async () => {
      const { server, region } = await open();
      server.down = new FakeError('TRITON_TIMEOUT', 'no answer in time');
      expect(await region.release({ timeoutMs: 50 })).toEqual({
        proven: false,
        reason: 'the time to wait for the server was over',
      });
      server.down = undefined;
      expect(await region.release()).toEqual({ proven: true });
      expect(server.regionNames).toEqual([]);
    });

    test('disposed of without proof: a warning says so', async () => {
      const { server, region } = await open();
      server.version = '2.48.0';
      const { finish } = await lose(server, region);
      const warning = once(process, 'warning');
      await region[Symbol.asyncDispose]();
      expect(await warning).toMatchObject([
        { code: 'ZEROHOP_RETIRED', message: expect.stringContaining(region.name) as string },
      ]);
      finish();
    });

    test('a register that a proxy repeats is answered with "already": it is ours', async () => {
      const server = makeServer();
      const regions = server[kind === 'cuda' ? 'cudaSharedMemory' : 'systemSharedMemory'];
      const register = regions.register as (region: object) => Promise<void>;
      regions.register = async (region: object) => {
        await register(region);
        await register(region);
      };
      const region = await SharedRegion.allocate(server, { kind, byteLength, ...options });
      await send(server, region);
      expect(await region.release()).toEqual({ proven: true });
      expect(server.regionNames).toEqual([]);
    });

    test('a server that loses a deferred unregister is asked again', async () => {
      const { server, region } = await open();
      server.version = '2.53.0';
      const regions = server[kind === 'cuda' ? 'cudaSharedMemory' : 'systemSharedMemory'];
      const { unregister } = regions;
      let asked = 0;
      regions.unregister = async (name) => {
        asked += 1;
        if (asked > 1) await unregister(name);
      };
      expect(await region.release()).toEqual({ proven: true });
      expect(asked).toBe(2);
    });

    test('a refusal has its code, and leaves nothing', async () => {
      const server = makeServer();
      server.refuseRegister = new FakeError('TRITON_UNIMPLEMENTED', 'Client shared memory is disabled.');
      const refused = SharedRegion.allocate(server, { kind, byteLength, ...options });
      await expect(refused).rejects.toThrow(code('ERR_SHM_DISABLED'));
      expect(server.regionNames.filter(ours)).toEqual([]);
      expect(server.calls.unregister).toBe(0);
    });

    test.for(['TRITON_CANCELLED', 'TRITON_MALFORMED_RESPONSE'])(
      'a register that ends with %s may have been carried out: it is found, and undone',
      async (errorCode) => {
        const server = makeServer();
        const regions = server[kind === 'cuda' ? 'cudaSharedMemory' : 'systemSharedMemory'];
        const register = regions.register as (region: object) => Promise<void>;
        regions.register = async (region: object) => {
          await register(region);
          throw new FakeError(errorCode, 'The client was closed');
        };
        const opening = SharedRegion.allocate(server, { kind, byteLength, ...options });
        await expect(opening).rejects.toMatchObject({ code: errorCode });
        expect(server.regionNames).toEqual([]);
      },
    );
  });
}
