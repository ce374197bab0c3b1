/** One tensor's memory, borrowed from a lease. */
import type { Device, DeviceMemory, Stream } from '@zerohop/cuda-native';
import type { Datatype, MemoryKind, TensorBlock, TypedArrays } from '@zerohop/cuda-native/tensor';
import { bytesOf, checkDestination, newTypedArray } from './datatypes.js';
import { outOfRange, wrongType } from './errors.js';

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

  get shm(): TensorBlock['shm'] {
    this.#owner.assertUsable();
    const { shm } = this.#source;
    return shm === undefined || shm.byteLength === this.byteLength ? shm : { ...shm, byteLength: this.byteLength };
  }

  hold(work: Promise<unknown>): void {
    this.#owner.hold(work);
  }

  /**
   * Copies `data` in: for host memory before this returns, for device memory on `stream` (the slot's, when none is
   * given), in which case `data` must stay as it is until the promise resolves.
   * @throws RangeError unless `data` has exactly `byteLength` bytes
   */
  write(data: ArrayBufferView, options?: { stream?: Stream }): Promise<void> {
    if (!ArrayBuffer.isView(data)) throw wrongType('data', 'typed array or DataView', data);
    if (data.byteLength !== this.byteLength) throw outOfRange('data.byteLength', `${this.byteLength}`, data.byteLength);
    const { memory } = this;
    if (memory instanceof Uint8Array) {
      memory.set(bytesOf(data));
      return Promise.resolve();
    }
    return this.#onStream(options?.stream, (stream) => stream.copyToDevice(memory, data));
  }

  /** Copies the tensor out, into `dst` or a new typed array. */
  read(dst?: TypedArrays[D]): Promise<TypedArrays[D]> {
    if (dst !== undefined) checkDestination(this.datatype, this.byteLength, dst);
    const target = dst ?? newTypedArray(this.datatype, this.byteLength);
    const { memory } = this;
    if (memory instanceof Uint8Array) {
      bytesOf(target).set(memory);
      return Promise.resolve(target);
    }
    return this.#onStream(undefined, (stream) => stream.copyToHost(target, memory)).then(() => target);
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
