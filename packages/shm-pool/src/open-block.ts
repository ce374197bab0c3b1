/** A block of another thread's lease, opened by its handle. */
import { Device, SharedMemory, type Stream } from '@zerohop/cuda-native';
import type { BlockHandle, Datatype, MemoryKind } from '@zerohop/cuda-native/tensor';
import { type BlockOwner, type BlockSource, LeaseBlock } from './block.js';
import { checkHandle } from './block-handle.js';
import { PoolError } from './errors.js';
import { Holds } from './holds.js';

/** What stands for the lease on this side: it ends with `close`. */
class Opened implements BlockOwner {
  readonly kind: MemoryKind;
  readonly device: Device | undefined;
  readonly stream: Stream | undefined;
  readonly #holds = new Holds(() => undefined);
  readonly #letGo: () => Promise<void>;
  #closing: Promise<void> | undefined;

  constructor(kind: MemoryKind, stream: Stream | undefined, letGo: () => Promise<void>) {
    this.kind = kind;
    this.device = stream?.device;
    this.stream = stream;
    this.#letGo = letGo;
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  assertUsable(): void {
    if (this.closed) throw new PoolError('ERR_DISPOSED', 'The block was closed');
  }

  hold(work: Promise<unknown>): void {
    this.assertUsable();
    this.#holds.add(work);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await this.#holds.ended();
    await this.#letGo();
  }
}

/**
 * The same bytes as a block of another thread's lease. Owns its own mapping, or its own stream; the memory is the slot's.
 * Nothing here keeps the slot: the thread that has the lease holds the block (`block.hold(promise)`) until this one says
 * that it has closed it.
 */
export class OpenedBlock<D extends Datatype = Datatype> extends LeaseBlock<D> {
  readonly #opened: Opened;

  /** @internal Made by `openBlock`. */
  constructor(opened: Opened, source: BlockSource, handle: BlockHandle<D>) {
    super(opened, source, handle);
    this.#opened = opened;
  }

  get closed(): boolean {
    return this.#opened.closed;
  }

  /** Waits for the work that holds the block, then lets go of it: views have length 0 afterwards. Closing twice is fine. */
  close(): Promise<void> {
    return this.#opened.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Opens a block in a worker thread by what `block.handle` gave in the thread that has the lease: `memory`, `write` and
 * `read` work as there. With transport `'system'` another process that sees the same /dev/shm can do it too. The device of
 * a `cuda` block is opened if it is not yet; the new block has a stream of its own, whose work is done before `close`
 * resolves.
 * @throws PoolError ERR_BLOCK_LOCAL for a device address of another process; TypeError, RangeError; the errors of
 * `SharedMemory.open` (ERR_SHM_NOT_FOUND when the slot is gone), `Device.open` and `Device.wrap`
 */
export async function openBlock<D extends Datatype>(handle: BlockHandle<D>): Promise<OpenedBlock<D>> {
  checkHandle(handle);
  const { byteLength } = handle;
  if (handle.kind === 'host') {
    const { key, byteOffset } = handle;
    const shared = await SharedMemory.open(key, { byteOffset, byteLength });
    const opened = new Opened('host', undefined, async () => shared[Symbol.dispose]());
    return new OpenedBlock<D>(
      opened,
      { memory: new Uint8Array(shared.buffer), shm: { key, byteOffset, byteLength } },
      handle,
    );
  }
  const device = await Device.open({ uuid: handle.deviceUuid });
  const memory = device.wrap(handle.address, byteLength, { keepAlive: undefined });
  const stream = device.createStream();
  const opened = new Opened('cuda', stream, async () => {
    await stream.close();
    await memory.close();
  });
  return new OpenedBlock<D>(opened, { memory, shm: undefined }, handle);
}
