/**
 * The structural types by which the packages hand tensors to each other. Types only: importing this entry
 * loads no code.
 */
import type { Device } from './device.js';
import type { DeviceMemory } from './memory.js';
import type { Stream } from './stream.js';

/** Triton's protocol datatypes (KServe v2, "tensor data types"). `BYTES` is length-prefixed and has no fixed size. */
export type Datatype =
  | 'BOOL'
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FP16'
  | 'BF16'
  | 'FP32'
  | 'FP64'
  | 'BYTES';

/** The typed array that `TensorBlock.read` gives for a datatype. FP16 and BF16 come as their bit patterns. */
export interface TypedArrays {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  BF16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BYTES: Uint8Array;
}

/** Where a tensor's bytes live. */
export type MemoryKind = 'cuda' | 'host';

/** What a producer or consumer must know of a tensor before it sees one. */
export interface TensorSpec<D extends Datatype = Datatype> {
  readonly name: string;
  readonly datatype: D;
  /** Maximum shape in elements, row-major, outermost first; every dimension is positive. */
  readonly shape: readonly number[];
  readonly kind: MemoryKind;
  /** The device that holds the blocks when `kind` is `'cuda'`, or that reaches host blocks as `deviceMemory`. */
  readonly device?: Device | undefined;
}

/**
 * What another thread needs to see a block's bytes; survives `postMessage`. It says where the bytes are and keeps nothing
 * alive: whoever sends it holds the block until the other side is done.
 */
export type BlockHandle<D extends Datatype = Datatype> = {
  readonly name: string;
  readonly datatype: D;
  readonly shape: readonly number[];
  readonly byteLength: number;
} & (
  | {
      /** In POSIX shared memory, from `byteOffset` of the region `key`. */
      readonly kind: 'host';
      readonly key: string;
      readonly byteOffset: number;
    }
  | {
      /** In device memory, at an address of the process `processId`, whose threads have it in common. */
      readonly kind: 'cuda';
      readonly deviceUuid: string;
      readonly address: bigint;
      readonly processId: number;
    }
);

/** One tensor's memory, borrowed for as long as the lease that gave it. Dense, row-major, little-endian. */
export interface TensorBlock<D extends Datatype = Datatype> {
  readonly name: string;
  readonly datatype: D;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly kind: MemoryKind;
  readonly device?: Device | undefined;
  /** A slice of device memory for `'cuda'`, a view of host memory for `'host'`. Borrowed: valid until the lease ends. */
  readonly memory: DeviceMemory | Uint8Array;
  /**
   * The same bytes as kernels reach them, borrowed as `memory` is: `memory` itself for `'cuda'`, the page-locked mapping of
   * host memory that is registered with `device`; else undefined. Host memory is then to be used when `stream` is idle.
   */
  readonly deviceMemory?: DeviceMemory | undefined;
  /** What another thread or process opens to see the same bytes; only for POSIX shared memory. */
  readonly shm?: { readonly key: string; readonly byteOffset: number; readonly byteLength: number } | undefined;
  /** What a worker thread opens to see the same bytes (`openBlock`); reading it throws for memory that no other thread has. */
  readonly handle?: BlockHandle<D>;
  /** The slot's stream, used when a call gives none. Only where there is `deviceMemory`. */
  readonly stream?: Stream | undefined;
  /** Keeps the block out of circulation until `work` has settled, however it settles. */
  hold(work: Promise<unknown>): void;
  /** Copies `data` (exactly `byteLength` bytes) in; resolves when the bytes are there. */
  write(data: ArrayBufferView, options?: { stream?: Stream }): Promise<void>;
  /** Copies the tensor out, into `dst` when given. */
  read(): Promise<TypedArrays[D]>;
  read(dst: TypedArrays[D]): Promise<TypedArrays[D]>;
}
