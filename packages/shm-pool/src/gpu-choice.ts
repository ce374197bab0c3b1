/** Which GPU of ours holds the slots, and which ordinal the server knows it by. */
import { availability, Device } from '@zerohop/cuda-native';
import { checkedInteger } from './check.js';
import type { RegionClient } from './client.js';
import { messageOf, PoolError, wrongType } from './errors.js';
import { gpusInFiles } from './host-gpus.js';

export interface ServerOrdinal {
  /** The server's ordinal of a device: a registration carries it, and a wrong one can kill the server. */
  readonly serverDeviceId: number;
  /** How it was settled. */
  readonly evidence: string;
}

export interface GpuChoice extends ServerOrdinal {
  readonly device: Device;
}

export interface GpuOptions {
  /** A device of ours, or its ordinal here. @defaultValue the server's only GPU, else ordinal 0 */
  readonly device?: Device | number | undefined;
  /** The ordinal of that device on the server; a non-negative integer. */
  readonly serverDeviceId?: number | undefined;
}

/** A Device is told by its shape: it may be of another copy of the addon's package. @throws TypeError, RangeError */
export function checkGpuOptions({ device, serverDeviceId }: GpuOptions): void {
  checkedInteger('serverDeviceId', serverDeviceId, 0, 0);
  if (device === undefined || typeof (Object(device) as Partial<Device>).supportsIpc === 'boolean') return;
  if (typeof device !== 'number') throw wrongType('device', 'Device or its ordinal', device);
  checkedInteger('device', device, 0, 0);
}

/** What the server's metrics say of its GPUs. */
interface ServerGpus {
  /**
   * Undefined when they are not known: also when the metrics list none, as those of a server that does not measure its
   * GPUs (no DCGM).
   */
  readonly uuids?: readonly string[];
  /** Why the metrics could not be read. */
  readonly unreadable?: unknown;
}

/**
 * The ordinal is given, or it is 0 because the server has exactly one GPU and that one is ours by UUID, or because this
 * host has one GPU and the server is on it. Anything else is not settled. An ordinal is never one that the server is
 * known not to have.
 * @throws PoolError ERR_CUDA_UNAVAILABLE, ERR_IPC_UNSUPPORTED, ERR_GPU_MISMATCH
 */
export async function chooseGpu(client: RegionClient, options: GpuOptions): Promise<GpuChoice> {
  const found = availability();
  if (!found.available) throw new PoolError('ERR_CUDA_UNAVAILABLE', found.message);
  const known = await serverGpusOf(client);
  const device = await openDevice(options.device, known.uuids);
  if (!device.supportsIpc) {
    throw new PoolError(
      'ERR_IPC_UNSUPPORTED',
      `Memory of ${device.name} cannot be handed to another process here (an integrated GPU, WSL, or no unified addressing): use transport 'system'`,
    );
  }
  return { device, ...ordinalOf(client, device, options.serverDeviceId, known) };
}

/**
 * As `chooseGpu`, for memory that lies on a GPU already, by its UUID. That GPU need not be visible here.
 * @throws PoolError ERR_GPU_MISMATCH
 */
export async function serverOrdinalOf(
  client: RegionClient,
  uuid: string,
  serverDeviceId: number | undefined,
): Promise<ServerOrdinal> {
  return ordinalOf(client, { uuid, mig: uuid.startsWith('MIG-') }, serverDeviceId, await serverGpusOf(client));
}

/** What is known of a GPU without opening it. */
type Gpu = Pick<Device, 'uuid' | 'mig'>;

function ordinalOf(
  client: RegionClient,
  gpu: Gpu,
  serverDeviceId: number | undefined,
  known: ServerGpus,
): ServerOrdinal {
  if (serverDeviceId === undefined) return { serverDeviceId: 0, evidence: whyFirst(client, gpu, known) };
  const count = known.uuids?.length;
  if (count !== undefined && serverDeviceId >= count) {
    throw mismatch(`the server has ${gpus(count)}, so serverDeviceId ${serverDeviceId} does not exist there`, known);
  }
  return { serverDeviceId, evidence: `serverDeviceId ${serverDeviceId} was given` };
}

/** Why the device is the server's GPU 0. @throws PoolError ERR_GPU_MISMATCH */
function whyFirst(client: RegionClient, { uuid, mig }: Gpu, known: ServerGpus): string {
  const { uuids } = known;
  if (uuids?.length === 1 && uuids[0] === uuid) return `the server's only GPU is ours (${uuid})`;
  // One MIG device of a GPU is all that a process sees, and which one a server sees can't be read anywhere.
  if (mig) {
    throw mismatch(
      `ours is the MIG device ${uuid}; metrics name whole GPUs, and a MIG device shares memory only within its own GPU instance`,
      known,
    );
  }
  if (uuids !== undefined) {
    if (uuids.length > 1) throw mismatch(`the server has ${gpus(uuids.length)}`, known);
    throw mismatch(`ours is ${uuid}, the server's metrics list ${uuids[0]}`, known);
  }
  if (client.isLocal !== true) throw mismatch('the server is not known to be on this host', known);
  const count = Math.max(gpusInFiles(), Device.count());
  if (count !== 1) throw mismatch(`this host has ${gpus(count)}`, known);
  return 'this host has one GPU and the server is on it';
}

const gpus = (count: number) => `${count} ${count === 1 ? 'GPU' : 'GPUs'}`;

function mismatch(why: string, { unreadable }: ServerGpus): PoolError {
  const also = unreadable === undefined ? '' : `, and the server's metrics cannot be read: ${messageOf(unreadable)}`;
  return new PoolError(
    'ERR_GPU_MISMATCH',
    `It is not settled which of the server's GPUs is ours (${why}${also}): pass serverDeviceId, or give the client the server's metricsUrl`,
    unreadable === undefined ? undefined : { cause: unreadable },
  );
}

async function serverGpusOf(client: RegionClient): Promise<ServerGpus> {
  try {
    const uuids = new Set(await client.gpuUuids?.());
    return uuids.size === 0 ? {} : { uuids: [...uuids] };
  } catch (error) {
    return { unreadable: error };
  }
}

/** The device given, or the server's only GPU where it is one of ours, or ordinal 0. @throws CudaUnavailableError */
export async function openDevice(
  given: Device | number | undefined,
  serverGpus?: readonly string[] | undefined,
): Promise<Device> {
  if (typeof given === 'number') return Device.open(given);
  if (given !== undefined) return given;
  const [only] = serverGpus?.length === 1 ? serverGpus : [];
  const found = availability();
  const ours = found.available && only !== undefined && found.devices.some((device) => device.uuid === only);
  return ours ? Device.open({ uuid: only }) : Device.open(0);
}
