import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CudaError, Device, DisposedError, type IpcMemHandle, SharedMemory, type Stream } from '../../src/index.js';
import { move } from '../support/move.js';

const MIB = 1024 * 1024;

/** The bytes 0, 1, 2 … with a step that is not a power of two, so that swapped chunks do not look right. */
function pattern(byteLength: number): Uint8Array {
  const bytes = new Uint8Array(byteLength);
  for (let i = 0; i < byteLength; i += 1) bytes[i] = (i * 7 + (i >> 8)) & 255;
  return bytes;
}

interface PeerReply {
  byteLength?: number;
  first?: number;
  last?: number;
  error?: string;
  code?: string;
}

async function askPeer(handle: IpcMemHandle, fill: number): Promise<PeerReply> {
  const peer = fork(fileURLToPath(new URL('../fixtures/ipc-peer.mjs', import.meta.url)), {
    serialization: 'advanced',
    execArgv: [],
  });
  const reply = once(peer, 'message') as Promise<[PeerReply]>;
  const exit = once(peer, 'exit');
  peer.send({ handle, fill });
  const [message] = await reply;
  await exit;
  return message;
}

/** What holds on every device: run against the fake driver and against a real GPU, unchanged. */
export function deviceSuite(): void {
  let device: Device;
  let stream: Stream;

  beforeAll(async () => {
    device = await Device.open(0);
    stream = device.createStream();
  });

  afterAll(async () => {
    await stream?.close();
  });

  describe('Device', () => {
    it('describes itself', () => {
      expect(device.ordinal).toBe(0);
      expect(device.uuid).toMatch(/^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(device.name).not.toBe('');
      expect(device.computeCapability.major).toBeGreaterThanOrEqual(5);
      expect(device.pciBusId).toMatch(/^[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]$/i);
      expect(device.integrated).toBe(false);
      expect(device.supportsIpc).toBe(true);
      const { free, total } = device.memoryInfo();
      expect(total).toBeGreaterThan(0);
      expect(total).toBeLessThanOrEqual(device.totalMemory);
      expect(free).toBeGreaterThan(0);
      expect(free).toBeLessThanOrEqual(total);
    });

    it('is one object, by ordinal and by UUID', async () => {
      expect(await Device.open(0)).toBe(device);
      expect(await Device.open({ uuid: device.uuid })).toBe(device);
      expect(Device.count()).toBeGreaterThanOrEqual(1);
    });

    it('names what there is when there is no such device', async () => {
      const absent = Device.open({ uuid: 'GPU-00000000-0000-0000-0000-000000000000' });
      await expect(absent).rejects.toMatchObject({ code: 'ERR_CUDA_UNAVAILABLE', reason: 'no-device' });
      await expect(absent).rejects.toThrow(device.uuid);
      await expect(Device.open(99)).rejects.toThrow('there is no device 99');
    });

    it('says what was requested when memory runs out', async () => {
      const error: unknown = await device.alloc(2 ** 50).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CudaError);
      expect(error).toMatchObject({
        code: 'CUDA_ERROR_OUT_OF_MEMORY',
        status: 2,
        call: 'cuMemAlloc',
        device: 0,
        sticky: false,
      });
      expect((error as CudaError).message).toContain('requested 1125899906842624 bytes');
      await using memory = await device.alloc(MIB);
      expect(memory.closed).toBe(false);
    });
  });

  describe('DeviceMemory', () => {
    it('is freed by close, once', async () => {
      const memory = await device.alloc(64 * MIB);
      const { free } = device.memoryInfo();
      expect(memory.byteLength).toBe(64 * MIB);
      expect(memory.address).toBeTypeOf('bigint');
      await Promise.all([memory.close(), memory.close()]);
      await memory.close();
      expect(memory.closed).toBe(true);
      expect(device.memoryInfo().free).toBeGreaterThanOrEqual(free + 64 * MIB);
      expect(() => memory.address).toThrow(DisposedError);
      expect(() => memory.slice(0, 1)).toThrow(DisposedError);
    });

    it('has slices that end with it', async () => {
      const memory = await device.alloc(4096);
      const slice = memory.slice(1024, 512);
      expect(slice.address).toBe(memory.address + 1024n);
      const inner = slice.slice(256, 256);
      expect(inner.address).toBe(memory.address + 1280n);
      await slice.close();
      expect(slice.closed).toBe(true);
      expect(inner.closed).toBe(false);
      expect(memory.closed).toBe(false);
      await memory.close();
      expect(inner.closed).toBe(true);
      expect(() => stream.fill(inner, 0)).toThrow(DisposedError);
    });

    it('is zeroed, rounded up and alone when exportable', async () => {
      await using memory = await device.alloc(2 * MIB + 1, { exportable: true });
      expect(memory.byteLength).toBe(2 * MIB + 1);
      const handle = memory.exportIpc();
      expect(handle.rawHandle.byteLength).toBe(64);
      expect(handle.allocationByteLength).toBe(4 * MIB);
      expect(handle.byteOffset).toBe(0);
      expect(handle.deviceUuid).toBe(device.uuid);
      expect(memory.slice(MIB, MIB).exportIpc()).toMatchObject({ byteOffset: MIB, allocationByteLength: 4 * MIB });
      const bytes = new Uint8Array(memory.byteLength).fill(1);
      await stream.copyToHost(bytes, memory);
      expect(bytes.every((byte) => byte === 0)).toBe(true);
    });

    it('is not exported when it was not made for it', async () => {
      await using memory = await device.alloc(4096);
      expect(() => memory.exportIpc()).toThrow(TypeError);
    });
  });

  describe('IPC', () => {
    it('shows another process the same bytes, and this one what the other wrote', async () => {
      await using memory = await device.alloc(2 * MIB, { exportable: true });
      const bytes = pattern(memory.byteLength);
      await stream.copyToDevice(memory, bytes);
      const half = memory.slice(MIB, MIB);
      const reply = await askPeer(half.exportIpc(), 77);
      expect(reply).toEqual({ byteLength: MIB, first: bytes[MIB], last: bytes[2 * MIB - 1] });
      const after = new Uint8Array(memory.byteLength);
      await stream.copyToHost(after, memory);
      expect(Buffer.compare(after.subarray(0, MIB), bytes.subarray(0, MIB))).toBe(0);
      expect(after.subarray(MIB).every((byte) => byte === 77)).toBe(true);
    });

    it('refuses a handle that says more than it stands for', async () => {
      await using memory = await device.alloc(2 * MIB, { exportable: true });
      const reply = await askPeer({ ...memory.exportIpc(), allocationByteLength: 64 * MIB }, 0);
      expect(reply.code).toBe('CUDA_ERROR_INVALID_VALUE');
      expect(reply.error).toContain('stands for 2097152 bytes');
    });

    it('refuses a forged handle, and works afterwards', async () => {
      await using memory = await device.alloc(2 * MIB, { exportable: true });
      const handle = memory.exportIpc();
      await expect(device.openIpc({ ...handle, rawHandle: new Uint8Array(64).fill(0x5a) })).rejects.toBeInstanceOf(
        CudaError,
      );
      stream.fill(memory, 3);
      await stream.done();
    });
  });

  describe('Stream', () => {
    it('copies from and to pinned memory, in order', async () => {
      await using memory = await device.alloc(MIB);
      await using up = await device.allocPinned(MIB);
      await using down = await device.allocPinned(MIB);
      const bytes = pattern(MIB);
      new Uint8Array(up.buffer).set(bytes);
      await stream.copyToDevice(memory, up);
      stream.fill(memory.slice(10, 20), 9);
      await stream.copyToHost(new Uint8Array(down.buffer), memory);
      await stream.done();
      bytes.fill(9, 10, 30);
      expect(Buffer.compare(new Uint8Array(down.buffer), bytes)).toBe(0);
      expect(stream.query()).toBe(true);
    });

    it('copies parts of pinned memory', async () => {
      await using memory = await device.alloc(100);
      await using pinned = await device.allocPinned(1000);
      const view = new Uint8Array(pinned.buffer);
      view.set(pattern(1000));
      await stream.copyToDevice(memory, view.subarray(300, 400));
      await stream.copyToHost(view.subarray(700, 800), memory);
      await stream.done();
      expect(Array.from(view.subarray(700, 800))).toEqual(Array.from(pattern(1000).subarray(300, 400)));
    });

    // Below, at and above the size of a staging chunk, and with an odd rest.
    it.each([1, 4 * MIB, 4 * MIB + 1, 13 * MIB + 5])('copies %i bytes of ordinary memory', async (byteLength) => {
      await using memory = await device.alloc(byteLength);
      const bytes = pattern(byteLength);
      await stream.copyToDevice(memory, bytes);
      const back = new Uint8Array(byteLength);
      await stream.copyToHost(back, memory);
      expect(Buffer.compare(back, bytes)).toBe(0);
    });

    it('copies every kind of view', async () => {
      await using memory = await device.alloc(16);
      await stream.copyToDevice(memory, Float32Array.of(1.5, -2, 3, 4));
      const doubles = new Float64Array(4);
      await stream.copyToHost(new DataView(doubles.buffer, 8, 16), memory);
      expect(Array.from(new Float32Array(doubles.buffer, 8, 4))).toEqual([1.5, -2, 3, 4]);
    });

    it('runs copies of ordinary memory one after the other', async () => {
      await using memory = await device.alloc(5 * MIB);
      const copies = Array.from({ length: 8 }, (_, i) =>
        stream.copyToDevice(memory, new Uint8Array(memory.byteLength).fill(i)),
      );
      await Promise.all(copies);
      const back = new Uint8Array(memory.byteLength);
      await stream.copyToHost(back, memory);
      expect(back.every((byte) => byte === 7)).toBe(true);
    });

    it('copies shared memory, which stays mapped until then', async () => {
      const shared = await SharedMemory.create(`/zerohop-test-copy-${process.pid}`, 6 * MIB);
      new Uint8Array(shared.buffer).set(pattern(6 * MIB));
      await using memory = await device.alloc(6 * MIB);
      const copy = stream.copyToDevice(memory, new Uint8Array(shared.buffer));
      expect(() => shared.close()).toThrow(expect.objectContaining({ code: 'ERR_BUSY' }));
      shared[Symbol.dispose]();
      expect(shared.closed).toBe(true);
      await copy;
      const back = new Uint8Array(6 * MIB);
      await stream.copyToHost(back, memory);
      expect(Buffer.compare(back, pattern(6 * MIB))).toBe(0);
      expect(SharedMemory.tryRemove(shared.key)).toBe('absent');
    });

    it('copies on the device', async () => {
      await using from = await device.alloc(3000);
      await using to = await device.alloc(3000);
      stream.fill(to, 0);
      await stream.copyToDevice(from, pattern(3000));
      stream.copy(to.slice(1000, 500), from.slice(0, 500));
      const back = new Uint8Array(3000);
      await stream.copyToHost(back, to);
      expect(Array.from(back.subarray(1000, 1500))).toEqual(Array.from(pattern(3000).subarray(0, 500)));
      expect(back[999]).toBe(0);
      expect(back[1500]).toBe(0);
    });

    it('waits with many others at once', async () => {
      const streams = Array.from({ length: 16 }, () => device.createStream());
      await using memory = await device.alloc(16 * MIB);
      streams.forEach((each, i) => {
        each.fill(memory.slice(i * MIB, MIB), i);
      });
      await Promise.all(streams.flatMap((each) => [each.done(), each.done()]));
      const back = new Uint8Array(16 * MIB);
      await stream.copyToHost(back, memory);
      expect(streams.map((_, i) => back[i * MIB])).toEqual(streams.map((_, i) => i));
      await Promise.all(streams.map((each) => each.close()));
    });

    it('gives up waiting when told to', async () => {
      const reason = new Error('no longer needed');
      await expect(stream.done({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      await stream.done({ signal: new AbortController().signal });
    });

    it('is used no more after close', async () => {
      const other = device.createStream();
      await using memory = await device.alloc(16);
      other.fill(memory, 1);
      await Promise.all([other.close(), other.close()]);
      expect(other.closed).toBe(true);
      expect(() => other.fill(memory, 1)).toThrow(DisposedError);
      expect(() => other.query()).toThrow(DisposedError);
      await expect(other.done()).rejects.toThrow(DisposedError);
    });

    it('checks what it is given before the driver sees it', async () => {
      await using memory = await device.alloc(64);
      const loose = stream as unknown as Record<
        'copyToDevice' | 'copyToHost' | 'copy' | 'fill' | 'done',
        (...a: unknown[]) => unknown
      >;
      expect(() => loose.copyToDevice(memory, new Uint8Array(63))).toThrow(RangeError);
      expect(() => loose.copyToDevice(memory, [1, 2])).toThrow('Expected ArrayBufferView or PinnedMemory for src');
      expect(() => loose.copyToDevice({}, new Uint8Array(64))).toThrow(TypeError);
      expect(() => loose.copyToHost(new Uint8Array(65), memory)).toThrow(RangeError);
      expect(() => loose.copy(memory.slice(0, 32), memory.slice(31, 32))).toThrow('do not overlap');
      expect(() => loose.copy(memory.slice(0, 32), memory.slice(32, 31))).toThrow(RangeError);
      expect(() => loose.fill(memory, 256)).toThrow('Expected integer between 0 and 255 for byte');
      expect(() => loose.fill(memory, '1')).toThrow(TypeError);
      await expect(loose.done(null)).rejects.toThrow('Expected object for options but received null of type object');
    });
  });

  describe('PinnedMemory', () => {
    it('detaches its buffer and is freed by close', async () => {
      const pinned = await device.allocPinned(4096);
      const view = new Uint8Array(pinned.buffer);
      expect(pinned.buffer).toBe(pinned.buffer);
      expect(view.byteLength).toBe(4096);
      view.fill(1);
      await Promise.all([pinned.close(), pinned.close()]);
      expect(view.byteLength).toBe(0);
      expect(() => pinned.buffer).toThrow(DisposedError);
    });

    it('is not freed under a buffer whose memory was moved by a transfer', async () => {
      const pinned = await device.allocPinned(4096);
      new Uint8Array(pinned.buffer)[5] = 5;
      const moved = move(pinned.buffer);
      await pinned.close();
      expect(new Uint8Array(moved)[5]).toBe(5);
    });
  });

  describe('arguments', () => {
    it.each([0, -1, 1.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])('refuses the size %s', async (size) => {
      await expect(device.alloc(size)).rejects.toThrow(RangeError);
      await expect(device.allocPinned(size)).rejects.toThrow(RangeError);
    });

    it('words errors as sharp does', async () => {
      const loose = device as unknown as Record<
        'alloc' | 'allocPinned' | 'openIpc',
        (...a: unknown[]) => Promise<unknown>
      >;
      await expect(loose.alloc(-1)).rejects.toThrow(
        'Expected positive integer for byteLength but received -1 of type number',
      );
      await expect(loose.alloc('1')).rejects.toThrow(TypeError);
      await expect(loose.alloc(1n)).rejects.toThrow(TypeError);
      await expect(loose.alloc(1, { exportable: 1 })).rejects.toThrow('Expected boolean for exportable');
      await expect(loose.alloc(1, null)).rejects.toThrow(
        'Expected object for options but received null of type object',
      );
      await expect(loose.openIpc(null)).rejects.toThrow(TypeError);
      const handle = { rawHandle: new Uint8Array(64), byteOffset: 0, allocationByteLength: 1, deviceUuid: device.uuid };
      await expect(loose.openIpc({ ...handle, rawHandle: new Uint8Array(63) })).rejects.toThrow('received 63 bytes');
      await expect(loose.openIpc({ ...handle, rawHandle: 'x' })).rejects.toThrow(TypeError);
      await expect(loose.openIpc({ ...handle, byteOffset: 1 })).rejects.toThrow(RangeError);
      await expect(loose.openIpc({ ...handle, byteOffset: 2 })).rejects.toThrow(RangeError);
      await expect(loose.openIpc({ ...handle, deviceUuid: 'GPU-x' })).rejects.toThrow(device.uuid);
      const open = Device.open as (which: unknown) => Promise<unknown>;
      await expect(open(-1)).rejects.toThrow(RangeError);
      await expect(open('0')).rejects.toThrow(TypeError);
      await expect(open({ uuid: 1 })).rejects.toThrow('Expected non-empty string for uuid');
      await expect(open(null)).rejects.toThrow(TypeError);
    });

    it('refuses slices that do not lie inside', async () => {
      await using memory = await device.alloc(100);
      for (const [offset, length] of [
        [0, 101],
        [100, 1],
        [-1, 1],
        [0, 0],
        [1.5, 1],
        [101, 1],
      ] as const) {
        expect(() => memory.slice(offset, length)).toThrow(RangeError);
      }
      expect(memory.slice(99, 1).byteLength).toBe(1);
    });
  });
}
