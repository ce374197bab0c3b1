/** Slots in device memory, which the server opens by CUDA IPC. */
import { checkSlots, checkTensors } from '../capacity.js';
import { PoolError } from '../errors.js';
import { chooseGpu } from '../gpu-choice.js';
import { refusalOf } from '../ipc-refusal.js';
import { CudaMemory } from '../memory/cuda-memory.js';
import { type ModelFacts, runsOnCpu } from '../model-facts.js';
import { EntryNames } from '../names.js';
import { within } from '../settle.js';
import type { SlotMemoryFactory } from '../slot-memory.js';
import type { TransportOptions } from './options.js';
import { createRegistered } from './registered-memory.js';

export async function openCuda(options: TransportOptions): Promise<SlotMemoryFactory> {
  const { client, facts, slots, signal } = options;
  const plan = options.plan.current;
  if (options.auto) refuseHostOnlyModel(facts);
  const { device, serverDeviceId, evidence } = await within(chooseGpu(client, options), { signal });
  const holder = { byteLength: device.memoryInfo().total, name: device.name };
  checkTensors([...plan.inputs, ...plan.outputs], plan.byteLength, holder);
  checkSlots(slots, plan.byteLength, holder);
  const names = new EntryNames();
  let opened = false;
  return {
    transport: 'cuda',
    kind: 'cuda',
    device,
    serverDeviceId,
    evidence: `the server opened our memory on ${device.name}, and ${evidence}${elsewhere(facts, serverDeviceId)}`,
    checkRoom: (more, size) => checkSlots(size + more, options.plan.current.byteLength, holder),
    async create(until, replaced) {
      const entry = names.next();
      const allocate = (byteLength: number) => CudaMemory.allocate(entry, byteLength, device, serverDeviceId);
      try {
        const memory = await createRegistered(options, { entry, device, allocate }, [until, replaced]);
        opened = true;
        return memory;
      } catch (error) {
        // A server that has opened memory of ours is not kept from it by its process id.
        throw opened ? error : await refusalOf(error, { client, device, serverDeviceId, signal: until });
      }
    },
  };
}

/** Said, not refused: the server copies from one GPU to the other. */
function elsewhere({ instances }: ModelFacts, serverDeviceId: number): string {
  const gpus = [...new Set(instances.flatMap((group) => group.gpus))];
  if (gpus.length === 0 || gpus.includes(serverDeviceId)) return '';
  return `, though the model runs on GPU ${gpus.join(' and ')} there`;
}

/** With `'auto'`, device memory is pointless for a model that would only copy it to the host. */
function refuseHostOnlyModel(facts: ModelFacts): void {
  const refuse = (why: string) => {
    throw new PoolError('ERR_CUDA_UNAVAILABLE', `model '${facts.model}' ${why}`);
  };
  if (runsOnCpu(facts)) refuse('runs on the CPU');
  if (facts.takesHostInputs) {
    refuse("takes host tensors (Python backend without FORCE_CPU_ONLY_INPUT_TENSORS 'no')");
  }
}
