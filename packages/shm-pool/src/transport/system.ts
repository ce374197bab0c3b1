/** Slots in /dev/shm, which the server maps. */
import { availability, type Device, SharedMemory } from '@zerohop/cuda-native';
import { checkTensors, hostBuffer, hostMemory, slotsByteLength } from '../capacity.js';
import { codeOf, messageOf, PoolError } from '../errors.js';
import { openDevice } from '../gpu-choice.js';
import { SystemMemory } from '../memory/system-memory.js';
import { EntryNames } from '../names.js';
import { RegisteredRegion } from '../region.js';
import { RegionCounters } from '../region-counters.js';
import { within } from '../settle.js';
import type { SlotMemoryFactory } from '../slot-memory.js';
import type { TransportOptions } from './options.js';
import { createRegistered } from './registered-memory.js';

/** Of the object that tells why another was refused, in bytes: one page, all zeros. */
const TRIAL_BYTES = 4096;

export async function openSystem(options: TransportOptions): Promise<SlotMemoryFactory> {
  const names = new EntryNames();
  const { slots } = options;
  const plan = options.plan.current;
  checkTensors([...plan.inputs, ...plan.outputs], plan.byteLength, hostBuffer());
  checkFree(slots, plan.byteLength);
  const device = await within(deviceFor(options), { signal: options.signal });
  const reached = device === undefined ? '' : `; kernels of ${device.name} reach it`;
  return {
    transport: 'system',
    kind: 'host',
    device,
    evidence: `the server opened our region in /dev/shm and lists it${reached}`,
    checkRoom: (more) => checkFree(more, options.plan.current.byteLength),
    async create(until, replaced) {
      const entry = names.next();
      const allocate = (byteLength: number) => SystemMemory.allocate(entry, byteLength, { device });
      try {
        return await createRegistered(options, { entry, device, allocate }, [until, replaced]);
      } catch (error) {
        if (codeOf(error) !== 'ERR_SHM_NAMESPACE') throw error;
        throw await whyUnseen(options, names, error, until);
      }
    },
  };
}

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

/** The device that is to reach the slots. With `'auto'`, a machine without one has no kernels that would miss it. */
async function deviceFor({ deviceAccess, auto, device }: TransportOptions): Promise<Device | undefined> {
  if (!deviceAccess || (auto && !availability().available)) return undefined;
  return openDevice(device);
}

/**
 * A server says "unable to open" whether it has another /dev/shm or may not open our file. A page of zeros that anyone
 * may open tells the two apart.
 */
async function whyUnseen(
  { client, counters: { lost } }: TransportOptions,
  names: EntryNames,
  refusal: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const entry = names.next();
  const uncounted = new RegionCounters(lost);
  try {
    const open = await SystemMemory.allocate(entry, TRIAL_BYTES, { mode: 0o666 });
    const region = await RegisteredRegion.open(client, open, entry, uncounted, signal);
    await region.discard();
  } catch {
    return client.isLocal === false ? notLocal(refusal) : refusal;
  }
  return new PoolError(
    'ERR_SHM_PERMISSION',
    `The server sees our /dev/shm, but may not open what user ${process.geteuid?.()} keeps there (mode 0600): run the server and this process as the same user`,
    { cause: refusal },
  );
}

function notLocal(refusal: unknown): PoolError {
  const message = `${messageOf(refusal)}. The server's address is none of this host's own`;
  return new PoolError('ERR_SHM_NAMESPACE', message, { cause: refusal });
}
