/** The memory of one slot, in a region of its own. */
import type { Device } from '@zerohop/cuda-native';
import type { CudaMemory } from '../memory/cuda-memory.js';
import type { SystemMemory } from '../memory/system-memory.js';
import { closeStream } from '../memory-release.js';
import { RegisteredRegion } from '../region.js';
import type { SlotMemory, SlotMemoryFactory } from '../slot-memory.js';
import type { TransportOptions } from './options.js';

export interface RegisteredMemory {
  readonly entry: string;
  /** Where the slot's stream runs; without a device it has none. */
  readonly device: Device | undefined;
  allocate(byteLength: number): Promise<CudaMemory | SystemMemory>;
}

/** As `SlotMemoryFactory.create`. A stream that was made here is closed when it fails; one that was given is not. */
export async function createRegistered(
  { client, plan, counters }: TransportOptions,
  { entry, device, allocate }: RegisteredMemory,
  [signal, replaced]: Parameters<SlotMemoryFactory['create']>,
): Promise<SlotMemory> {
  const layout = replaced?.plan ?? plan.current;
  const stream = replaced?.stream ?? device?.createStream();
  try {
    const memory = await allocate(layout.byteLength);
    const region = await RegisteredRegion.open(client, memory, entry, counters, signal);
    return {
      kind: memory.kind === 'cuda' ? 'cuda' : 'host',
      plan: layout,
      region,
      stream,
      view: (byteOffset, byteLength) => memory.view(byteOffset, byteLength),
      ...(memory.kind === 'system' && {
        deviceView: (byteOffset: number, byteLength: number) => memory.deviceView(byteOffset, byteLength),
      }),
      endViews: () => memory.endViews(),
    };
  } catch (error) {
    if (stream !== replaced?.stream) await closeStream({ stream });
    throw error;
  }
}
