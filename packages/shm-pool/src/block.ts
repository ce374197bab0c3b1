/** One tensor's memory, borrowed from a lease. */
import type { Device, DeviceMemory, Stream } from '@zerohop/cuda-native';
import type { BlockHandle, Datatype, MemoryKind, TensorBlock, TypedArrays } from '@zerohop/cuda-native/tensor';
import { handleOf } from './block-handle.js';
import { checkFields } from './check.js';
import { bytesOf, checkDestination, newTypedArray } from './datatypes.js';
import { asError, outOfRange, wrongType } from './errors.js';

const WRITE_FIELDS = new Set(['stream']);

/** What a block needs of the lease it was borrowed from. */
export interface BlockOwner {
  readonly kind: MemoryKind;
  readonly device: Device | undefined;
  readonly stream: Stream | undefined;
  /** Throws when the lease is over. */
  assertUsable(): void;
  hold(work: Promise<unknown>): void;
}

/** Where a block's bytes are now: a slot's memory may move when its region has to be replaced. */
export interface BlockSource {
  readonly memory: Uint8Array | DeviceMemory | undefined;
  readonly deviceMemory?: DeviceMemory | undefined;
  readonly shm: TensorBlock['shm'];
}

/** Dense, row-major, little-endian. Every access after the lease's end throws; a view taken earlier is only borrowed. */
export class LeaseBlock<D extends Datatype = Datatype> implements TensorBlock<D> {
  readonly name: string;
  readonly datatype: D;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly #owner: BlockOwner;
  readonly #source: BlockSource;

  /** @internal Made by the lease. */
  constructor(
    owner: BlockOwner,
    source: BlockSource,
    tensor: { name: string; datatype: D; shape: readonly number[]; byteLength: number },
  ) {
    this.#owner = owner;
    this.#source = source;
    this.name = tensor.name;
    this.datatype = tensor.datatype;
    this.shape = tensor.shape;
    this.byteLength = tensor.byteLength;
  }

  get kind(): MemoryKind {
    return this.#owner.kind;
  }

  get device(): Device | undefined {
    return this.#owner.device;
  }

  get stream(): Stream | undefined {
    return this.#owner.stream;
  }

  get memory(): DeviceMemory | Uint8Array {
    this.#owner.assertUsable();
    const { memory } = this.#source;
    if (memory === undefined) throw new Error(`Block '${this.name}' has no memory`);
    if (memory.byteLength === this.byteLength) return memory;
    return memory instanceof Uint8Array ? memory.subarray(0, this.byteLength) : memory.slice(0, this.byteLength);
  }

  get deviceMemory(): DeviceMemory | undefined {
    this.#owner.assertUsable();
    const { deviceMemory } = this.#source;
    return deviceMemory === undefined || deviceMemory.byteLength === this.byteLength
      ? deviceMemory
      : deviceMemory.slice(0, this.byteLength);
  }

  get shm(): TensorBlock['shm'] {
    this.#owner.assertUsable();
    const { shm } = this.#source;
    return shm === undefined || shm.byteLength === this.byteLength ? shm : { ...shm, byteLength: this.byteLength };
  }

  /**
   * What a worker thread opens to see the same bytes, with `openBlock`. Hold the block until the worker is done.
   * @throws PoolError ERR_BLOCK_LOCAL for transport `'bytes'`, whose memory no other thread can see
   */
  get handle(): BlockHandle<D> {
    return handleOf(this);
  }

  hold(work: Promise<unknown>): void {
    this.#owner.hold(work);
  }

  /**
   * Copies `data` in: for host memory before this returns, for device memory on `stream` (the slot's, when none is
   * given), in which case `data` must stay as it is until the promise resolves.
   * @throws RangeError unless `data` has exactly `byteLength` bytes; TypeError; PoolError ERR_LEASE_RELEASED,
   * ERR_LEASE_DETACHED, of an opened block ERR_DISPOSED; CudaError
   */
  write(data: ArrayBufferView, options?: { stream?: Stream }): Promise<void> {
    try {
      return this.#write(data, options);
    } catch (error) {
      return Promise.reject(asError(error));
    }
  }

  #write(data: ArrayBufferView, options: { stream?: Stream } | undefined): Promise<void> {
    checkFields('options', options, WRITE_FIELDS);
    if (!ArrayBuffer.isView(data)) throw wrongType('data', 'typed array or DataView', data);
    if (data.byteLength !== this.byteLength) throw outOfRange('data.byteLength', `${this.byteLength}`, data.byteLength);
    const { memory } = this;
    if (memory instanceof Uint8Array) return this.#onHost(() => memory.set(bytesOf(data)));
    return this.#onStream(options?.stream, (stream) => stream.copyToDevice(memory, data));
  }

  /**
   * Copies the tensor out, into `dst` or a new typed array.
   * @throws RangeError, TypeError unless `dst` has exactly `byteLength` bytes and the datatype's class; else as `write`
   */
  read(dst?: TypedArrays[D]): Promise<TypedArrays[D]> {
    try {
      return this.#read(dst);
    } catch (error) {
      return Promise.reject(asError(error));
    }
  }

  #read(dst: TypedArrays[D] | undefined): Promise<TypedArrays[D]> {
    if (dst !== undefined) checkDestination(this.datatype, this.byteLength, dst);
    const target = dst ?? newTypedArray(this.datatype, this.byteLength);
    const { memory } = this;
    if (memory instanceof Uint8Array) return this.#onHost(() => bytesOf(target).set(memory)).then(() => target);
    return this.#onStream(undefined, (stream) => stream.copyToHost(target, memory)).then(() => target);
  }

  /** Copies at once, or behind what the slot's stream has still to do with the memory. */
  #onHost(copy: () => void): Promise<void> {
    const { stream } = this.#owner;
    if (stream === undefined || stream.query()) {
      copy();
      return Promise.resolve();
    }
    const work = stream.done().then(copy);
    this.#owner.hold(work);
    return work;
  }

  /** Runs a copy on a stream and holds the block until the stream has done it. */
  #onStream(given: Stream | undefined, copy: (stream: Stream) => Promise<void> | void): Promise<void> {
    const stream = given ?? this.#owner.stream;
    if (stream === undefined) throw wrongType('stream', 'Stream', stream);
    const work = (async () => {
      await copy(stream);
      await stream.done();
    })();
    this.#owner.hold(work);
    return work;
  }
}
