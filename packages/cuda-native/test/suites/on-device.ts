import { readFileSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';
import { Device, type DeviceMemory, type Module, type Stream } from '../../src/index.js';

export const MIB = 1024 * 1024;

/** Device 0 and a stream of it, for the tests of one suite. */
export interface OnDevice {
  readonly device: Device;
  readonly stream: Stream;
}

/** Opens device 0, and a stream that is closed after the suite. To be read in tests, not while they are being defined. */
export function onDevice(): OnDevice {
  let device: Device | undefined;
  let stream: Stream | undefined;
  beforeAll(async () => {
    device = await Device.open(0);
    stream = device.createStream();
  });
  afterAll(() => stream?.close());
  return {
    get device() {
      return device as Device;
    },
    get stream() {
      return stream as Stream;
    },
  };
}

/** The test kernels, loaded for the tests of one suite. */
export function testKernels(on: OnDevice): () => Module {
  let module: Module | undefined;
  beforeAll(async () => {
    module = await on.device.loadModule(fixture('kernels.ptx'));
  });
  afterAll(() => module?.close());
  return () => module as Module;
}

export function fixture(name: string): Uint8Array {
  return readFileSync(new URL(`../fixtures/${name}`, import.meta.url));
}

/** The bytes 0, 7, 14 … with a step that is not a power of two, so that swapped chunks do not look right. */
export function pattern(byteLength: number): Uint8Array {
  const bytes = new Uint8Array(byteLength);
  for (let i = 0; i < byteLength; i += 1) bytes[i] = (i * 7 + (i >> 8)) & 255;
  return bytes;
}

/** What is in device memory once all work of the stream is over. */
export async function read(stream: Stream, memory: DeviceMemory): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(memory.byteLength);
  await stream.copyToHost(bytes, memory);
  return bytes;
}

/** The error that `work` throws or rejects with; undefined when it does neither. */
export async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** The same object for arguments that its types forbid. */
export function loose<T extends object>(object: T): { readonly [K in keyof T]: (...args: unknown[]) => unknown } {
  return object as never;
}
