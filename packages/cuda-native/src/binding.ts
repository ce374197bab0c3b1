import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { errorFrom, type NativeFailure, NativeUnavailableError } from './errors.js';

declare const kind: unique symbol;
/** A native object; its kind is checked again by the addon. */
export type Handle<K extends string> = { readonly [kind]: K };
export type RegionHandle = Handle<'region'>;
export type AbandonedNameHandle = Handle<'abandonedName'>;
export type DeviceHandle = Handle<'device'>;
export type MemoryHandle = Handle<'memory'>;
export type PinnedHandle = Handle<'pinned'>;
export type StreamHandle = Handle<'stream'>;

export interface NativeDeviceSummary {
  readonly ordinal: number;
  readonly uuid: string;
  readonly name: string;
}

/** What the addon exports. Arguments are checked by the callers; sizes and offsets are in bytes. */
export interface Binding {
  setErrorFactory(factory: (failure: NativeFailure) => Error): void;
  /** From now on nothing is freed any more: the driver may be gone before the last finalizer runs. */
  markExiting(): void;

  shmCreate(key: string, byteLength: number, mode: number): Promise<{ handle: RegionHandle; buffer: ArrayBuffer }>;
  shmOpen(
    key: string,
    byteOffset: number,
    byteLength: number | undefined,
  ): Promise<{ handle: RegionHandle; buffer: ArrayBuffer }>;
  shmTryLock(key: string): AbandonedNameHandle | 'locked' | 'absent';
  shmRemoveLocked(name: AbandonedNameHandle): void;
  shmUnlock(name: AbandonedNameHandle): void;
  shmUnlink(region: RegionHandle): void;
  shmClose(region: RegionHandle, buffer: ArrayBuffer): void;
  shmFreeBytes(): number;
  shmUnlinkAll(): void;

  loadDriver(library: string): { driverVersion: number; devices: NativeDeviceSummary[] };
  openDevice(
    library: string,
    ordinal: number,
    uuid: string,
  ): Promise<
    NativeDeviceSummary & {
      handle: DeviceHandle;
      computeCapabilityMajor: number;
      computeCapabilityMinor: number;
      totalMemory: number;
      pciBusId: string;
      integrated: boolean;
      unifiedAddressing: boolean;
    }
  >;
  memoryInfo(device: DeviceHandle): { free: number; total: number };

  memAlloc(
    device: DeviceHandle,
    byteLength: number,
    exportable: boolean,
  ): Promise<{ handle: MemoryHandle; address: bigint; rawHandle?: Uint8Array }>;
  memOpenIpc(
    device: DeviceHandle,
    rawHandle: Uint8Array,
    byteLength: number,
  ): Promise<{ handle: MemoryHandle; address: bigint }>;
  memFree(memory: MemoryHandle): Promise<void>;
  pinnedAlloc(device: DeviceHandle, byteLength: number): Promise<{ handle: PinnedHandle; buffer: ArrayBuffer }>;
  pinnedFree(memory: PinnedHandle, buffer: ArrayBuffer): Promise<void>;

  streamCreate(device: DeviceHandle): StreamHandle;
  streamDestroy(stream: StreamHandle): Promise<void>;
  streamCopyToDevice(
    stream: StreamHandle,
    dst: MemoryHandle,
    dstOffset: number,
    src: PinnedHandle,
    srcOffset: number,
    byteLength: number,
  ): void;
  streamCopyToHost(
    stream: StreamHandle,
    dst: PinnedHandle,
    dstOffset: number,
    src: MemoryHandle,
    srcOffset: number,
    byteLength: number,
  ): void;
  streamCopy(
    stream: StreamHandle,
    dst: MemoryHandle,
    dstOffset: number,
    src: MemoryHandle,
    srcOffset: number,
    byteLength: number,
  ): void;
  streamFill(stream: StreamHandle, dst: MemoryHandle, dstOffset: number, byteLength: number, byte: number): void;
  streamUpload(stream: StreamHandle, dst: MemoryHandle, dstOffset: number, src: Uint8Array): Promise<void>;
  streamDownload(stream: StreamHandle, dst: Uint8Array, src: MemoryHandle, srcOffset: number): Promise<void>;
  streamWait(stream: StreamHandle): Promise<void>;
  streamQuery(stream: StreamHandle): boolean;
}

const PACKAGE = '@zerohop/cuda-native';

/** This package's folder, found from wherever this module runs: `src`, or a chunk in `dist`. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && (JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string }).name === PACKAGE) {
      return folder;
    }
    const parent = dirname(folder);
    if (parent === folder) {
      throw new Error(`the folder of ${PACKAGE} was not found (a bundler must leave this package external)`);
    }
    folder = parent;
  }
}

function load(): Binding {
  try {
    if (process.platform !== 'linux') {
      throw new Error(`there is no addon for ${process.platform}`);
    }
    const require = createRequire(import.meta.url);
    const nodeGypBuild = require('node-gyp-build') as (directory: string) => unknown;
    return nodeGypBuild(join(packageRoot(), 'native')) as Binding;
  } catch (cause) {
    throw new NativeUnavailableError(
      `The native addon of ${PACKAGE} did not load on ${process.platform}-${process.arch}: ` +
        `${cause instanceof Error ? cause.message.split('\n')[0] : String(cause)}. It is for Linux with glibc; in a ` +
        'clone of the repository build it with "pnpm --filter @zerohop/cuda-native build:native"',
      { cause },
    );
  }
}

let loaded: Binding | undefined;

/**
 * The addon, loaded on first use so that importing the package never fails.
 *
 * @throws NativeUnavailableError when there is no binary for this platform, or it does not load.
 */
export function binding(): Binding {
  if (loaded !== undefined) return loaded;
  const native = load();
  native.setErrorFactory(errorFrom);
  if (isMainThread) {
    // Finalizers do not run on process.exit() and after an uncaught exception, so the names are removed here. A
    // worker's go with its finalizers, which run when it ends.
    process.on('exit', () => {
      native.markExiting();
      native.shmUnlinkAll();
    });
  }
  loaded = native;
  return native;
}
