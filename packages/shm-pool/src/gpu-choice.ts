/** Which GPU of ours holds the slots, and which ordinal the server knows it by. */
import { readdirSync } from 'node:fs';
import { availability, Device } from '@zerohop/cuda-native';
import type { TensorClient } from './client.js';
import { messageOf, outOfRange, PoolError } from './errors.js';

export interface GpuChoice {
  readonly device: Device;
  /** The server's ordinal of that device: a registration carries it, and a wrong one can kill the server. */
  readonly serverDeviceId: number;
  /** How it was settled. */
  readonly evidence: string;
}

export interface GpuOptions {
  /** A device of ours, or its ordinal here. @defaultValue the server's only GPU, else ordinal 0 */
  readonly device?: Device | number | undefined;
  /** The ordinal of that device on the server. */
  readonly serverDeviceId?: number | undefined;
}

/**
 * The ordinal is given, or it is 0 because the server has exactly one GPU and that one is ours by UUID, or because this
 * host has one GPU and the server is on it. Anything else is not settled.
 * @throws PoolError ERR_CUDA_UNAVAILABLE, ERR_GPU_MISMATCH; RangeError for a malformed ordinal
 */
export async function chooseGpu(client: TensorClient, options: GpuOptions): Promise<GpuChoice> {
  const found = availability();
  if (!found.available) throw new PoolError('ERR_CUDA_UNAVAILABLE', found.message);
  const { serverDeviceId } = options;
  const serverGpus = await serverGpusOf(client, serverDeviceId !== undefined);
  const device = await openDevice(options.device, serverGpus);
  if (!device.supportsIpc) {
    throw new PoolError('ERR_CUDA_UNAVAILABLE', `Memory of ${device.name} cannot be handed to another process here`);
  }
  if (serverDeviceId !== undefined) {
    if (!Number.isSafeInteger(serverDeviceId) || serverDeviceId < 0) {
      throw outOfRange('serverDeviceId', 'non-negative integer', serverDeviceId);
    }
    if (serverGpus !== undefined && serverDeviceId >= serverGpus.length) {
      throw mismatch(
        `the server has ${serverGpus.length} GPUs, so serverDeviceId ${serverDeviceId} does not exist there`,
      );
    }
    return { device, serverDeviceId, evidence: `serverDeviceId ${serverDeviceId} was given` };
  }
  if (serverGpus !== undefined) {
    if (serverGpus.length > 1) throw mismatch(`the server has ${serverGpus.length} GPUs`);
    if (serverGpus[0] !== device.uuid) {
      throw mismatch(`ours is ${device.uuid}, the server's metrics list ${serverGpus[0]}`);
    }
    return { device, serverDeviceId: 0, evidence: `the server's only GPU is ours (${device.uuid})` };
  }
  const count = gpusOfHost();
  if (client.isLocal !== true) throw mismatch('the server is not known to be on this host');
  if (count !== 1) throw mismatch(`this host has ${count} GPUs`);
  return { device, serverDeviceId: 0, evidence: 'this host has one GPU and the server is on it' };
}

function mismatch(why: string, cause?: unknown): PoolError {
  return new PoolError(
    'ERR_GPU_MISMATCH',
    `It is not settled which of the server's GPUs is ours (${why}): pass serverDeviceId, or give the client the server's metricsUrl`,
    cause === undefined ? undefined : { cause },
  );
}

/**
 * Undefined when the server's GPUs are not known: also when its metrics list none, as those of a server that does not
 * measure its GPUs (no DCGM). Metrics that can't be read matter only where they have to decide.
 */
async function serverGpusOf(client: TensorClient, decided: boolean): Promise<readonly string[] | undefined> {
  try {
    const uuids = await client.gpuUuids?.();
    return uuids === undefined || uuids.length === 0 ? undefined : uuids;
  } catch (error) {
    if (decided) return undefined;
    throw mismatch(`the server's metrics cannot be read: ${messageOf(error)}`, error);
  }
}

async function openDevice(
  given: Device | number | undefined,
  serverGpus: readonly string[] | undefined,
): Promise<Device> {
  if (typeof given === 'number') return Device.open(given);
  if (given !== undefined) return given;
  const [only] = serverGpus?.length === 1 ? serverGpus : [];
  const found = availability();
  const ours = found.available && only !== undefined && found.devices.some((device) => device.uuid === only);
  return ours ? Device.open({ uuid: only }) : Device.open(0);
}

/** GPUs of this host, also those that CUDA_VISIBLE_DEVICES hides from this process but not from the server. */
function gpusOfHost(): number {
  let listed = 0;
  try {
    listed = readdirSync('/proc/driver/nvidia/gpus').length;
  } catch {
    // No such folder under WSL2 and on Jetson: what the driver shows is all there is.
  }
  return Math.max(listed, Device.count());
}
