/** Shared-memory regions that a server knows. */

import type { ControlOptions } from './request.js';

export interface SystemRegionStatus {
  readonly name: string;
  readonly key: string;
  readonly byteOffset: number;
  readonly byteLength: number;
}

export interface CudaRegionStatus {
  readonly name: string;
  readonly deviceId: number;
  readonly byteLength: number;
}

/**
 * `'disabled'`: the server was started without `--allow-client-shm=true` (needed from 26.04 on), or has no shared
 * memory. `'restricted'`: it wants a header for these calls.
 */
export type SharedMemoryState = 'enabled' | 'disabled' | 'restricted';

/**
 * `'released'`: the server listed the region, and no request uses it any more. `'unknown'`: it did not list the region,
 * or the connection changed meanwhile, as at a restart; that proves nothing about the memory.
 */
export type ReleaseOutcome = 'released' | 'unknown';

export interface ReleaseOptions {
  /** For the whole wait. @defaultValue the client's `controlTimeoutMs` */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What the regions of either kind can be asked. */
export interface RegionsOfOneKind<Status> {
  /** Unregisters one region; an empty name is refused, since the server takes it for "all". */
  unregister(name: string, options?: ControlOptions): Promise<void>;
  /** Every region of this kind, other clients' too. The only way to say "all". */
  unregisterAll(options?: ControlOptions): Promise<void>;
  /** All regions, or the one named; an unknown name gives an empty list. */
  status(name?: string, options?: ControlOptions): Promise<Status[]>;
  /**
   * Unregisters a region and waits until no request uses it any more: only then may its memory be freed. Use names that
   * are not given twice: a new region of the same name would be waited for, and unregistered, too.
   *
   * @throws TritonError `TRITON_TIMEOUT` when it is still in use after `timeoutMs`; `TRITON_UNSAFE_REQUEST` for a server
   *   before 2.50 or of unknown version, which crashes when a region in use is unregistered
   */
  waitUntilReleased(name: string, options?: ReleaseOptions): Promise<ReleaseOutcome>;
}

export interface SystemRegions extends RegionsOfOneKind<SystemRegionStatus> {
  /**
   * Registers a POSIX shared-memory object. There is no offset: the region starts at byte 0 of the object, since
   * servers apply another offset twice and then read past the mapping.
   *
   * @throws TritonError `TRITON_SHM_KEY_IN_USE` when the key is registered under another name, which servers mishandle
   * @throws TypeError or RangeError, some with the code `TRITON_UNSAFE_REQUEST`, for wrong arguments
   */
  register(region: { name: string; key: string; byteLength: number }, options?: ControlOptions): Promise<void>;
}

export interface CudaRegions extends RegionsOfOneKind<CudaRegionStatus> {
  /**
   * Registers GPU memory. There is no offset here either: a handle stands for the whole allocation.
   *
   * @param region - `rawHandle`: the 64 bytes of a CUDA IPC handle; `deviceId`: the server's ordinal of the GPU
   * @throws RangeError `TRITON_UNSAFE_REQUEST` for an ordinal that the server's metrics (option `metricsUrl`) rule out
   */
  register(
    region: { name: string; rawHandle: Uint8Array; deviceId: number; byteLength: number },
    options?: ControlOptions,
  ): Promise<void>;
}
