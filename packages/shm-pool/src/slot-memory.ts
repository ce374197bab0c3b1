/** The memory of one slot: where its tensors lie, by whichever transport. */
import type { Device, DeviceMemory, Stream } from '@zerohop/cuda-native';
import type { MemoryKind, TensorBlock } from '@zerohop/cuda-native/tensor';
import type { SlotPlan, TensorPlan } from './layout.js';
import type { SharedRegion } from './region.js';

/** How tensors reach the server: device memory, POSIX shared memory, or the message itself. */
export type Transport = 'cuda' | 'system' | 'bytes';

export interface SlotMemory {
  readonly kind: MemoryKind;
  /** Absent for `bytes`. */
  readonly region?: SharedRegion | undefined;
  /** The slot's own stream; only for `cuda`. */
  readonly stream?: Stream | undefined;
  view(byteOffset: number, byteLength: number): Uint8Array | DeviceMemory;
}

/** Makes the memory of slots: at open, and again after a slot had to be given up. */
export interface SlotMemoryFactory {
  readonly transport: Transport;
  readonly kind: MemoryKind;
  readonly device?: Device | undefined;
  /** Why this transport was possible; part of `pool.reason`. */
  readonly evidence: string;
  /** An abort of `signal` ends it, with nothing left behind. */
  create(signal?: AbortSignal): Promise<SlotMemory>;
}

/** One tensor of a slot. Survives a change of the slot's memory. */
export class SlotTensor {
  readonly plan: TensorPlan;
  #memory: Uint8Array | DeviceMemory | undefined;
  #shm: TensorBlock['shm'];

  constructor(plan: TensorPlan) {
    this.plan = plan;
  }

  /** The whole capacity; undefined for an output that arrives in the message. */
  get memory(): Uint8Array | DeviceMemory | undefined {
    return this.#memory;
  }

  get shm(): TensorBlock['shm'] {
    return this.#shm;
  }

  moveTo(memory: SlotMemory): void {
    const { byteOffset, byteLength } = this.plan;
    this.#memory = memory.view(byteOffset, byteLength);
    this.#shm =
      memory.kind === 'host' && memory.region !== undefined
        ? { key: memory.region.key, byteOffset, byteLength }
        : undefined;
  }
}

/** Host memory for the inputs; outputs come in the answer. */
export function messageMemory(plan: SlotPlan): SlotMemory {
  const bytes = new Uint8Array(plan.inputByteLength);
  return {
    kind: 'host',
    view: (byteOffset, byteLength) => bytes.subarray(byteOffset, byteOffset + byteLength),
  };
}

/** Copies the first `byteLength` bytes from one slot's memory to another's of the same kind. */
export async function copyBytes(from: SlotMemory, to: SlotMemory, byteLength: number): Promise<void> {
  const source = from.view(0, byteLength);
  const target = to.view(0, byteLength);
  if (source instanceof Uint8Array && target instanceof Uint8Array) {
    target.set(source);
  } else if (!(source instanceof Uint8Array) && !(target instanceof Uint8Array)) {
    to.stream?.copy(target, source);
    await to.stream?.done();
  }
}
