import { beforeAll, expect, it } from 'vitest';
import { Device } from '../../src/index.js';
import { failureOf, fixture, loose, MIB, onDevice, pattern, read } from './on-device.js';

/** Two devices, 0 and 1, that can reach each other. */
export function peerSuite(): void {
  const on = onDevice();
  let other: Device;

  beforeAll(async () => {
    other = await Device.open(1);
  });

  it('says which devices can reach each other', () => {
    expect(on.device.canAccessPeer(other)).toBe(true);
    expect(other.canAccessPeer(on.device)).toBe(true);
    expect(on.device.canAccessPeer(on.device)).toBe(false);
    for (const value of [undefined, 1, {}, on.stream]) {
      expect(() => loose(on.device).canAccessPeer(value)).toThrow('Expected Device for other');
    }
  });

  it('copies from and to the other device, whether or not they reach each other', async () => {
    const { device, stream } = on;
    await using mine = await device.alloc(MIB);
    await using theirs = await other.alloc(MIB);
    await using far = other.createStream();
    await stream.copyToDevice(mine, pattern(MIB));
    stream.copy(theirs, mine);
    stream.fill(mine, 0);
    stream.copy(mine.slice(100, 200), theirs.slice(500, 200));
    const bytes = await read(stream, mine);
    expect(Array.from(bytes.subarray(100, 300))).toEqual(Array.from(pattern(MIB).subarray(500, 700)));
    expect([bytes[99], bytes[300]]).toEqual([0, 0]);
    expect(Buffer.compare(await read(far, theirs), pattern(MIB))).toBe(0);
  });

  it('lets streams of one device wait for the other', async () => {
    const { device, stream } = on;
    await using far = other.createStream();
    await using event = other.createEvent();
    await using module = await other.loadModule(fixture('kernels.fatbin'));
    const spin = await module.kernel('spin', ['u64']);
    await using theirs = await other.alloc(MIB);
    await using mine = await device.alloc(MIB);
    far.launch(spin, { grid: 1, block: 1 }, 30_000_000);
    far.fill(theirs, 9);
    far.record(event);
    stream.wait(event);
    stream.copy(mine, theirs);
    expect((await read(stream, mine)).every((byte) => byte === 9)).toBe(true);
    expect(() => stream.record(event)).toThrow('Expected event on device 0 but received one on device 1');
  });

  it('gives kernels access to the other device’s memory when that was asked for', async () => {
    const { device, stream } = on;
    await using module = await device.loadModule(fixture('kernels.fatbin'));
    const fill = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
    await using theirs = await other.alloc(400);
    await using far = other.createStream();
    const launch = () => stream.launch(fill, { grid: 1, block: 100 }, theirs, 77, 100);
    expect(device.hasPeerAccessTo(other)).toBe(false);
    expect(launch).toThrow(
      'Expected memory on device 0 for argument 0 but received memory on device 1, to which enablePeerAccess was not called',
    );
    await device.enablePeerAccess(other);
    await device.enablePeerAccess(other);
    expect([device.hasPeerAccessTo(other), other.hasPeerAccessTo(device)]).toEqual([true, false]);
    launch();
    await stream.done();
    const values = new Uint32Array((await read(far, theirs)).buffer);
    expect(values.every((value) => value === 77)).toBe(true);
    expect(() => far.launch(fill, { grid: 1, block: 1 }, theirs, 1, 1)).toThrow(
      'Expected kernel on device 1 but received one on device 0',
    );
  });

  it('keeps apart what belongs to one device', async () => {
    const { device, stream } = on;
    await using mine = await device.alloc(64);
    await using theirs = await other.alloc(64);
    await using second = await other.alloc(64);
    await using far = other.createStream();
    expect(() => stream.fill(theirs, 1)).toThrow('Expected dst on device 0 but received one on device 1');
    expect(() => stream.copyToDevice(theirs, new Uint8Array(64))).toThrow(RangeError);
    expect(() => stream.copyToHost(new Uint8Array(64), theirs)).toThrow('Expected src on device 0');
    expect(() => stream.copy(theirs, second)).toThrow(RangeError);
    const square = { dstPitch: 8, srcPitch: 8, width: 8, height: 8 };
    expect(() => stream.copy2d({ dst: mine, src: theirs, ...square })).toThrow(RangeError);
    await using graph = await far.capture(() => far.fill(theirs, 1));
    expect(() => stream.launchGraph(graph)).toThrow('Expected graph on device 0 but received one on device 1');
    expect(await failureOf(() => device.wrap(theirs.address, 64, { keepAlive: theirs }))).toMatchObject({
      code: 'CUDA_ERROR_INVALID_VALUE',
      message: expect.stringContaining('the address is memory of device 1'),
    });
    await stream.done();
  });
}
