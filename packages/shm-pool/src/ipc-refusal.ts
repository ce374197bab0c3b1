/** Why a server could not open our device memory. It says the same for every cause, and names the cause in its log only. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Device } from '@zerohop/cuda-native';
import type { RegionClient } from './client.js';
import { readEnvironment } from './environment.js';
import { codeOf, messageOf, PoolError } from './errors.js';
import { exportFromChild, FOREIGN_BYTES, type ForeignHandle } from './foreign-handle.js';
import { EntryNames, regionName } from './names.js';
import { limited, within } from './settle.js';

export interface Refused {
  readonly client: RegionClient;
  readonly device: Device;
  readonly serverDeviceId: number;
  readonly signal: AbortSignal | undefined;
}

/** A driver takes seconds to start in the child on a machine with many GPUs. In milliseconds. */
const TRIAL_MS = 20_000;
const POLL_MS = 20;

/** The error to report for one that opening a region of device memory ended with. */
export async function refusalOf(error: unknown, refused: Refused): Promise<unknown> {
  if (codeOf(error) !== 'ERR_IPC_REFUSED') return error;
  const { device, signal } = refused;
  const limit = limited(TRIAL_MS, signal);
  const other = await opensForeignMemory(refused, limit);
  if (other !== undefined) {
    return new PoolError(
      'ERR_PID_COLLISION',
      `The server could not open our CUDA memory, but opened that of process ${other}: its own process id is ours, ${process.pid}, in another PID namespace. Run both with one PID namespace (--pid=host), or one of them with docker run --init`,
      { cause: error },
    );
  }
  const hints = [
    ...(device.mig ? [`${device.uuid} is a MIG device, which shares memory within its own GPU instance only`] : []),
    ...(readEnvironment().ownPidNamespace
      ? ['this process has a PID namespace of its own (containers: --pid=host on both)']
      : []),
  ];
  if (hints.length === 0) return error;
  return new PoolError('ERR_IPC_REFUSED', `${messageOf(error)}. Here: ${hints.join('; ')}`, { cause: error });
}

/** The process id of a child whose memory of the same device the server opens; undefined when it opens none. */
async function opensForeignMemory(refused: Refused, signal: AbortSignal): Promise<number | undefined> {
  const foreign = await exportFromChild(refused.device.uuid, signal);
  if (foreign === undefined) return undefined;
  try {
    return (await opens(refused, foreign, signal)) ? foreign.pid : undefined;
  } catch {
    return undefined;
  } finally {
    await foreign.close();
  }
}

async function opens(
  { client: { cudaSharedMemory }, serverDeviceId }: Refused,
  { rawHandle }: ForeignHandle,
  signal: AbortSignal,
): Promise<boolean> {
  // What stays registered when the trial is aborted is the next reaper's.
  const name = regionName(new EntryNames().next(), 0);
  const region = { name, rawHandle, deviceId: serverDeviceId, byteLength: FOREIGN_BYTES };
  await within(cudaSharedMemory.register(region), { signal });
  await within(cudaSharedMemory.unregister(name), { signal });
  // The memory must outlive the server's mapping of it.
  while ((await within(cudaSharedMemory.status(name), { signal })).some((each) => each.name === name)) {
    await sleep(POLL_MS, undefined, { signal });
  }
  return true;
}
