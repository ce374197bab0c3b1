/** What a region of the caller's own promises, on every kind of memory and every server. */
import { existsSync, readdirSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type AllocateRegionOptions, SharedRegion, type TensorClient } from '../../src/index.js';
import { ours, removeOurEntries } from './names.js';
import { code } from './pool-suite.js';

export interface RegionServer {
  readonly client: TensorClient;
  /** A model whose output is its input: FP32, of `shape`. */
  readonly model: string;
  readonly input: string;
  readonly output: string;
  readonly shape: readonly number[];
  end?(): Promise<void>;
}

export interface SharedRegionSuite {
  /** Of the server, for the title. */
  readonly name: string;
  readonly kind: 'cuda' | 'system';
  readonly options?: Partial<AllocateRegionOptions>;
  /** Whether the server refuses or defers to unregister a region in use (from 2.50 on). @defaultValue true */
  readonly countsUsers?: boolean;
  open(): RegionServer | Promise<RegionServer>;
}

export const bytesOfShape = (shape: readonly number[]): number => 4 * shape.reduce((a, b) => a * b, 1);

/** Sends the region's start through the model, into the region's second half. */
export async function echo(server: RegionServer, region: SharedRegion): Promise<void> {
  const { client, model, input, output, shape } = server;
  const byteLength = bytesOfShape(shape);
  const call = client.infer(model, {
    inputs: { [input]: { datatype: 'FP32', shape, ...region.ref({ byteLength }) } },
    outputs: { [output]: region.ref({ byteOffset: byteLength, byteLength }) },
  });
  region.hold(call.settled);
  await call;
}

/** Bytes of a region, wherever they lie. */
export async function write(region: SharedRegion, byteOffset: number, bytes: Uint8Array): Promise<void> {
  const { memory } = region;
  if (memory === undefined) throw new Error('Not in this process');
  if (memory instanceof Uint8Array) {
    memory.set(bytes, byteOffset);
    return;
  }
  const stream = memory.device.createStream();
  await stream.copyToDevice(memory.slice(byteOffset, bytes.byteLength), bytes);
  await stream.close();
}

export async function read(region: SharedRegion, byteOffset: number, byteLength: number): Promise<Uint8Array> {
  const { memory } = region;
  if (memory === undefined) throw new Error('Not in this process');
  if (memory instanceof Uint8Array) return memory.slice(byteOffset, byteOffset + byteLength);
  const bytes = new Uint8Array(byteLength);
  const stream = memory.device.createStream();
  await stream.copyToHost(bytes, memory.slice(byteOffset, byteLength));
  await stream.close();
  return bytes;
}

/** Regions of this process that the server lists. */
export async function listed({ client }: RegionServer, kind: 'cuda' | 'system'): Promise<string[]> {
  const regions = await client[kind === 'cuda' ? 'cudaSharedMemory' : 'systemSharedMemory'].status();
  return regions.map(({ name }) => name).filter(ours);
}

const entries = () => readdirSync('/dev/shm').filter(ours);

export function describeSharedRegions({ name, kind, options = {}, countsUsers = true, open }: SharedRegionSuite): void {
  describe(`SharedRegion on '${kind}', ${name}`, () => {
    let server: RegionServer;
    let before: readonly string[];
    let byteLength: number;

    beforeEach(async () => {
      server = await open();
      before = entries();
      byteLength = 2 * bytesOfShape(server.shape);
    });

    afterEach(() => server.end?.());

    afterAll(removeOurEntries);

    const allocate = async (more: Partial<AllocateRegionOptions> = {}) => {
      const region = await SharedRegion.allocate(server.client, { kind, byteLength, ...options, ...more });
      onTestFinished(async () => void (await region.release({ timeoutMs: 1000 })));
      return region;
    };

    test('holds the tensors of a request, and is released with proof', async () => {
      const region = await allocate();
      const half = byteLength / 2;
      expect(region).toMatchObject({ kind, byteLength, closed: false });
      expect(await listed(server, kind)).toEqual([region.name]);
      expect(existsSync(`/dev/shm${region.key}`)).toBe(true);
      expect(await read(region, 0, byteLength)).toEqual(new Uint8Array(byteLength));
      for (const value of [1, 2]) {
        const bytes = new Uint8Array(new Float32Array(half / 4).fill(value).buffer);
        await write(region, 0, bytes);
        await echo(server, region);
        expect(await read(region, half, half)).toEqual(bytes);
      }
      expect(await region.release()).toEqual({ proven: true });
      expect(await listed(server, kind)).toEqual([]);
      expect(entries()).toEqual(before);
    });

    test('after its release everything but its name throws ERR_DISPOSED; releasing again does nothing', async () => {
      const region = await allocate();
      const { name: released, memory } = region;
      const [first, second] = [region.release(), region.release()];
      expect(region.closed).toBe(true);
      for (const use of [
        () => region.ref(),
        () => region.memory,
        () => region.deviceMemory,
        () => region.hold(Promise.resolve()),
      ]) {
        expect(use).toThrow(code('ERR_DISPOSED'));
      }
      expect(await Promise.all([first, second, region.release()])).toEqual(Array(3).fill({ proven: true }));
      expect(region.name).toBe(released);
      // No view outlives its memory.
      if (memory instanceof Uint8Array) expect(memory.byteLength).toBe(0);
      else expect(memory?.closed).toBe(true);
    });

    test('ref names parts, and none that does not lie inside', async () => {
      const region = await allocate();
      const { name: regionName } = region;
      expect(region.ref()).toEqual({ region: regionName, byteOffset: 0, byteLength });
      expect(region.ref({ byteOffset: 256 })).toEqual({
        region: regionName,
        byteOffset: 256,
        byteLength: byteLength - 256,
      });
      expect(region.ref({ byteOffset: byteLength - 1, byteLength: 1 })).toMatchObject({ byteLength: 1 });
      for (const part of [
        { byteOffset: byteLength },
        { byteOffset: -1 },
        { byteOffset: 0.5 },
        { byteLength: 0 },
        { byteLength: byteLength + 1 },
        { byteOffset: 256, byteLength: byteLength - 255 },
      ]) {
        expect(() => region.ref(part)).toThrow(RangeError);
      }
      for (const part of [null, 'all', { byteOffset: '0' }, { byteLength: 4n }]) {
        expect(() => region.ref(part as never)).toThrow(TypeError);
      }
    });

    test('release waits for the requests that it was told of, also for those that their caller gave up', async () => {
      const region = await allocate();
      let settle: (value: string) => void = () => undefined;
      region.hold(
        new Promise((resolve) => {
          settle = resolve;
        }),
      );
      region.hold(Promise.reject(new Error('failed')));
      const releasing = region.release();
      expect(await listed(server, kind)).toEqual([region.name]);
      settle('answered');
      expect(await releasing).toEqual({ proven: true });
    });

    test('what holds it does not end in time: not proven, kept, and released by a later call', async () => {
      const region = await allocate();
      let settle: (value: string) => void = () => undefined;
      region.hold(
        new Promise((resolve) => {
          settle = resolve;
        }),
      );
      const release = await region.release({ timeoutMs: 20 });
      expect(release).toMatchObject({ proven: false, reason: expect.stringMatching(/did not end in time/) as string });
      expect(await listed(server, kind)).toEqual([region.name]);
      settle('answered');
      expect(await region.release()).toEqual({ proven: true });
      expect(entries()).toEqual(before);
    });

    test('a lost request: released by the second proof only, where the server can give it', async () => {
      const region = await allocate();
      region.hold(Promise.resolve('lost'));
      expect(await region.release()).toMatchObject({ proven: countsUsers });
      expect(await listed(server, kind)).toEqual(countsUsers ? [] : [region.name]);
    });

    test('every region has a name of its own, which is never used again', async () => {
      const names = new Set<string>();
      for (let round = 0; round < 3; round += 1) {
        const region = await allocate();
        names.add(region.name);
        await region.release();
      }
      expect(names.size).toBe(3);
    });

    test('both dispose symbols release it', async () => {
      {
        await using region = await allocate();
        expect(region.closed).toBe(false);
      }
      expect(await listed(server, kind)).toEqual([]);
      const region = await allocate();
      region[Symbol.dispose]();
      expect(region.closed).toBe(true);
      await expect.poll(() => listed(server, kind)).toEqual([]);
      await expect.poll(entries).toEqual(before);
    });

    test('wrong arguments are refused before anything is made or sent', async () => {
      const { client } = server;
      const good = { kind, byteLength, ...options };
      for (const wrong of [
        undefined,
        null,
        'system',
        { ...good, byteLength: undefined },
        { ...good, byteLength: '4' },
        { ...good, signal: {} },
        { ...good, deviceAccess: 1 },
      ]) {
        await expect(SharedRegion.allocate(client, wrong as never)).rejects.toThrow(TypeError);
      }
      for (const wrong of [
        { ...good, kind: 'bytes' },
        { ...good, byteLength: 0 },
        { ...good, byteLength: 1.5 },
        { ...good, byteLength: 2 ** 53 },
      ]) {
        await expect(SharedRegion.allocate(client, wrong as never)).rejects.toThrow(RangeError);
      }
      const region = await allocate();
      await expect(region.release({ timeoutMs: -1 })).rejects.toThrow(RangeError);
      expect(() => region.hold(1 as never)).toThrow(TypeError);
      expect(region.closed).toBe(false);
      expect(await listed(server, kind)).toEqual([region.name]);
    });

    test('an allocation that is aborted leaves nothing', async () => {
      const reason = new Error('changed my mind');
      const aborted = AbortSignal.abort(reason);
      await expect(allocate({ signal: aborted })).rejects.toBe(reason);
      const controller = new AbortController();
      const allocating = allocate({ signal: controller.signal });
      setImmediate(() => controller.abort(reason));
      await allocating.then(
        (region) => region.release(),
        (error: unknown) => expect(error).toBe(reason),
      );
      expect(await listed(server, kind)).toEqual([]);
      expect(entries()).toEqual(before);
    });
  });
}
