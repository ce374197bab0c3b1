/** The memory of one slot: where its tensors lie, by whichever transport. */
import type { Device, DeviceMemory, Stream } from '@zerohop/cuda-native';
import type { MemoryKind, TensorBlock } from '@zerohop/cuda-native/tensor';
import type { SlotPlan, TensorPlan } from './layout.js';
import type { RegisteredRegion } from './region.js';

/** How tensors reach the server: device memory, POSIX shared memory, or the message itself. */
export type Transport = 'cuda' | 'system' | 'bytes';

export interface SlotMemory {
  readonly kind: MemoryKind;
  /** Where the tensors lie in it. */
  readonly plan: SlotPlan;
  /** Absent for `bytes`. */
  readonly region?: RegisteredRegion | undefined;
  /** The slot's own stream: for `cuda`, and for `system` memory that a device reaches. */
  readonly stream?: Stream | undefined;
  view(byteOffset: number, byteLength: number): Uint8Array | DeviceMemory;
  /** Host memory as kernels reach it; undefined where they don't. */
  deviceView?(byteOffset: number, byteLength: number): DeviceMemory | undefined;
  /** Ends every view given out so far; the bytes stay. */
  endViews(): void;
}

/** Makes the memory of slots: at open, and again after a slot had to be given up. */
export interface SlotMemoryFactory {
  readonly transport: Transport;
  readonly kind: MemoryKind;
  readonly device?: Device | undefined;
  /** The server's ordinal of that device. */
  readonly serverDeviceId?: number | undefined;
  /** Why this transport was possible; part of `pool.reason`. */
  readonly evidence: string;
  /**
   * Whether `more` slots fit beside the `size` that there are.
   * @throws PoolError ERR_SHM_FULL, ERR_TENSOR_SIZE
   */
  checkRoom(more: number, size: number): void;
  /**
   * Memory by the pool's present plan, or by the one given. It takes over `stream`, if one is given. An abort of
   * `signal` ends it, with nothing left behind.
   */
  create(
    signal?: AbortSignal,
    replaced?: { readonly plan: SlotPlan; readonly stream: Stream | undefined },
  ): Promise<SlotMemory>;
}

/** One tensor of a slot. Survives a change of the slot's memory. */
export class SlotTensor {
  #plan: TensorPlan;
  #memory: Uint8Array | DeviceMemory | undefined;
  #deviceMemory: DeviceMemory | undefined;
  #shm: TensorBlock['shm'];

  constructor(plan: TensorPlan) {
    this.#plan = plan;
  }

  get plan(): TensorPlan {
    return this.#plan;
  }

  /** The whole capacity; undefined for an output that arrives in the message. */
  get memory(): Uint8Array | DeviceMemory | undefined {
    return this.#memory;
  }

  get deviceMemory(): DeviceMemory | undefined {
    return this.#deviceMemory;
  }

  get shm(): TensorBlock['shm'] {
    return this.#shm;
  }

  /** Takes its place, which is for the tensor of that name, in other memory. */
  moveTo(memory: SlotMemory, plan: TensorPlan): void {
    const { byteOffset, byteLength } = plan;
    this.#plan = plan;
    this.#memory = memory.view(byteOffset, byteLength);
    this.#deviceMemory =
      this.#memory instanceof Uint8Array ? memory.deviceView?.(byteOffset, byteLength) : this.#memory;
    this.#shm =
      memory.kind === 'host' && memory.region !== undefined
        ? { key: memory.region.key, byteOffset, byteLength }
        : undefined;
  }
}

/** Host memory for the inputs; outputs come in the answer. */
export function messageMemory(plan: SlotPlan): SlotMemory {
  let bytes = new Uint8Array(plan.inputByteLength);
  return {
    kind: 'host',
    plan,
    view: (byteOffset, byteLength) => bytes.subarray(byteOffset, byteOffset + byteLength),
    endViews: () => {
      // Node 20 has no transfer(); this moves the memory as well, without a copy.
      bytes = new Uint8Array(structuredClone(bytes.buffer, { transfer: [bytes.buffer] }));
    },
  };
}

/** Copies the first `byteLength` bytes from one slot's memory to another's of the same kind. */
export async function copyBytes(from: SlotMemory, to: SlotMemory, byteLength: number): Promise<void> {
  await from.stream?.done();
  const source = from.view(0, byteLength);
  const target = to.view(0, byteLength);
  if (source instanceof Uint8Array && target instanceof Uint8Array) {
    target.set(source);
  } else if (!(source instanceof Uint8Array) && !(target instanceof Uint8Array)) {
    to.stream?.copy(target, source);
    await to.stream?.done();
  }
}
