/** Chooses how tensors travel, by evidence: the first transport for which a region of ours is registered and listed. */
import { SharedMemory } from '@zerohop/cuda-native';
import { checkSlots, checkTensors, hostBuffer, hostMemory, message, slotsByteLength } from './capacity.js';
import type { TensorClient } from './client.js';
import { messageOf, PoolError } from './errors.js';
import { chooseGpu, type GpuOptions } from './gpu-choice.js';
import type { SlotPlan } from './layout.js';
import { CudaMemory } from './memory/cuda-memory.js';
import { SystemMemory } from './memory/system-memory.js';
import { EntryNames } from './names.js';
import { type RegionCounters, SharedRegion } from './region.js';
import { isUnreachable } from './server-texts.js';
import { throwIfAborted, within } from './settle.js';
import { messageMemory, type SlotMemory, type SlotMemoryFactory, type Transport } from './slot-memory.js';

export interface TransportOptions extends GpuOptions {
  readonly client: TensorClient;
  readonly model: string;
  readonly version: string | undefined;
  readonly plan: SlotPlan;
  readonly slots: number;
  readonly counters: RegionCounters;
  readonly signal: AbortSignal | undefined;
}

export interface Chosen {
  readonly factory: SlotMemoryFactory;
  /** One for each slot. */
  readonly memories: readonly SlotMemory[];
  /** One sentence: which transport, on what evidence, and why not the faster ones. */
  readonly reason: string;
  /** `'auto'` had to move on. */
  readonly fellBack: boolean;
}

const AUTO: readonly Transport[] = ['cuda', 'system', 'bytes'];

/**
 * Makes the memory of all slots. Only `'auto'` moves on to the next transport, and only for reasons that concern the
 * transport; a server that cannot be reached is an error either way.
 */
export async function openTransport(wanted: Transport | 'auto', options: TransportOptions): Promise<Chosen> {
  const failed: string[] = [];
  for (const transport of wanted === 'auto' ? AUTO : [wanted]) {
    try {
      const factory = await factories[transport](options, wanted === 'auto');
      const memories = await createAll(factory, options);
      const instead = failed.length === 0 ? '' : `; not ${failed.join('; not ')}`;
      return {
        factory,
        memories,
        reason: `${transport}: ${factory.evidence}${instead}`,
        fellBack: failed.length > 0,
      };
    } catch (error) {
      throwIfAborted(options.signal);
      if (wanted !== 'auto' || transport === 'bytes' || !concernsTransport(error)) throw error;
      failed.push(`${transport}: ${messageOf(error)}`);
    }
  }
  throw new Error('No transport was tried');
}

const concernsTransport = (error: unknown) =>
  !isUnreachable(error) && !(error instanceof TypeError) && !(error instanceof RangeError);

/** Releases a slot's memory that no request has used. */
export async function discard(memory: SlotMemory): Promise<void> {
  await memory.region?.discard();
  await memory.stream?.close();
}

async function createAll(factory: SlotMemoryFactory, { slots, signal }: TransportOptions): Promise<SlotMemory[]> {
  const memories: SlotMemory[] = [];
  try {
    // One after another: the first failure names the cause, and reserving pages in parallel gains nothing.
    for (let index = 0; index < slots; index += 1) memories.push(await factory.create(signal));
    throwIfAborted(signal);
    return memories;
  } catch (error) {
    await Promise.all(memories.map(discard));
    throw error;
  }
}

type OpenFactory = (options: TransportOptions, auto: boolean) => SlotMemoryFactory | Promise<SlotMemoryFactory>;

const factories: Record<Transport, OpenFactory> = {
  async cuda(options, auto) {
    const { signal } = options;
    if (auto) await within(refuseHostOnlyModel(options), { signal });
    const { device, serverDeviceId, evidence } = await within(chooseGpu(options.client, options), { signal });
    const { plan, slots } = options;
    const holder = { byteLength: device.memoryInfo().total, name: device.name };
    checkTensors([...plan.inputs, ...plan.outputs], plan.byteLength, holder);
    checkSlots(slots, plan.byteLength, holder);
    const names = new EntryNames();
    return {
      transport: 'cuda',
      kind: 'cuda',
      device,
      evidence: `the server opened our memory on ${device.name}, and ${evidence}`,
      async create(until) {
        const stream = device.createStream();
        try {
          const entry = names.next();
          const memory = await CudaMemory.allocate(entry, plan.byteLength, device, serverDeviceId);
          const region = await SharedRegion.open(options.client, memory, entry, options.counters, until);
          return { kind: 'cuda', region, stream, view: (offset, length) => region.view(offset, length) };
        } catch (error) {
          await stream.close();
          throw error;
        }
      },
    };
  },

  system(options) {
    const names = new EntryNames();
    const { plan, slots } = options;
    checkTensors([...plan.inputs, ...plan.outputs], plan.byteLength, hostBuffer());
    checkFree(slots, plan.byteLength);
    return {
      transport: 'system',
      kind: 'host',
      evidence: 'the server opened our region in /dev/shm and lists it',
      async create(until) {
        const entry = names.next();
        const memory = await allocateSystem(entry, options);
        const region = await SharedRegion.open(options.client, memory, entry, options.counters, until);
        return { kind: 'host', region, view: (offset, length) => region.view(offset, length) };
      },
    };
  },

  bytes({ plan, slots }) {
    const { inputs, outputs, inputByteLength, byteLength } = plan;
    checkTensors(inputs, inputByteLength, message);
    checkTensors(outputs, byteLength - (outputs[0]?.byteOffset ?? byteLength), message);
    checkSlots(slots, inputByteLength, hostMemory());
    return {
      transport: 'bytes',
      kind: 'host',
      evidence: 'tensors travel in the messages',
      create: () => Promise.resolve(messageMemory(plan)),
    };
  },
};

/** @throws PoolError ERR_SHM_FULL before the first of too many slots is made, not with the last that fits */
function checkFree(slots: number, byteLength: number): void {
  const needed = slotsByteLength(slots, byteLength);
  // A /dev/shm without a limit still lies in memory.
  const free = Math.min(SharedMemory.freeBytes(), hostMemory().byteLength);
  if (needed <= free) return;
  throw new PoolError(
    'ERR_SHM_FULL',
    `${slots} slots of ${byteLength} bytes do not fit: they need ${needed} bytes and ${free} are free in /dev/shm. Open the pool with fewer slots, free some, or give the container more (docker run --shm-size=…, or --ipc=host)`,
  );
}

async function allocateSystem(entry: string, { plan, slots }: TransportOptions): Promise<SystemMemory> {
  try {
    return await SystemMemory.allocate(entry, plan.byteLength);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 'ERR_SHM_FULL') throw error;
    throw new PoolError('ERR_SHM_FULL', `${slots} slots of ${plan.byteLength} bytes do not fit: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** With `'auto'`, device memory is pointless for a model that would only copy it to the host. */
async function refuseHostOnlyModel({ client, model, version }: TransportOptions): Promise<void> {
  const { backend, instanceGroups, parameters } = await client.modelConfig(model, version);
  const refuse = (why: string) => {
    throw new PoolError('ERR_CUDA_UNAVAILABLE', `model '${model}' ${why}`);
  };
  if (instanceGroups.length > 0 && instanceGroups.every((group) => group.kind === 'KIND_CPU'))
    refuse('runs on the CPU');
  if (backend === 'python' && parameters.FORCE_CPU_ONLY_INPUT_TENSORS !== 'no') {
    refuse("takes host tensors (Python backend without FORCE_CPU_ONLY_INPUT_TENSORS 'no')");
  }
}
