import { integer, milliseconds, nonEmpty, object, rangeError, typeError } from './check.js';
import type { ControlCall, ControlTransport } from './control.js';
import { TritonError } from './errors.js';
import { KeyGuard } from './key-guard.js';
import { waitUntilReleased } from './release.js';
import { withTimeLimit } from './time-limit.js';
import type {
  CudaRegions,
  RegionsOfOneKind,
  ReleaseOptions,
  ReleaseOutcome,
  SharedMemoryState,
  SystemRegions,
} from './types/regions.js';
import type { ControlOptions } from './types/request.js';
import { checkByteLength, checkRegionName, unsafe, unsafeRequest } from './unsafe.js';

/** What the regions of a client ask of it. */
export interface RegionHost {
  control(): ControlTransport;
  /** The checked options of a control call. */
  resolve(options: ControlOptions | undefined): ControlCall;
  epoch(): number;
  /** How many GPUs the server has; undefined where that is not known. */
  gpuCount(): Promise<number | undefined>;
}

/** The size of a CUDA IPC handle. The server does not check it and reads past a short one. */
const IPC_HANDLE_BYTES = 64;
/** What the server takes for "all regions of this kind". */
const ALL = '';
/** Where the Python backend keeps the tensors of its models; another mapping of it would be theirs to break. */
const RESERVED_KEY = /^\/*triton_python_backend_shm_region_/;

export function systemRegions(host: RegionHost): SystemRegions {
  const { control, resolve } = host;
  const guard = new KeyGuard(control, host.epoch);
  const status = (name: string, call: ControlCall) => control().systemRegions(name, call);
  const unregister = async (name: string, call: ControlCall) => {
    try {
      await control().unregisterSystemRegion(name, call);
    } finally {
      guard.forget();
    }
  };
  return {
    async register(region, options) {
      checkFields(object(region, 'region'), ['name', 'key', 'byteLength']);
      await guard.register(
        {
          name: checkRegionName(region.name, 'name'),
          key: checkKey(region.key),
          byteLength: checkByteLength(region.byteLength, 'byteLength'),
        },
        resolve(options),
      );
    },
    ...commonCalls(host, status, unregister),
  };
}

export function cudaRegions(host: RegionHost): CudaRegions {
  const { control, resolve } = host;
  return {
    async register(region, options) {
      checkFields(object(region, 'region'), ['name', 'rawHandle', 'deviceId', 'byteLength']);
      const { rawHandle } = region;
      if (!(rawHandle instanceof Uint8Array)) throw typeError('Uint8Array', 'rawHandle', rawHandle);
      if (rawHandle.byteLength !== IPC_HANDLE_BYTES) {
        throw unsafe(rangeError(`${IPC_HANDLE_BYTES} bytes`, 'rawHandle', rawHandle.byteLength));
      }
      const checked = {
        name: checkRegionName(region.name, 'name'),
        rawHandle,
        deviceId: integer(region.deviceId, 'deviceId', 0),
        byteLength: checkByteLength(region.byteLength, 'byteLength'),
      };
      const call = resolve(options);
      const count = await host.gpuCount();
      if (count !== undefined && checked.deviceId >= count) {
        throw unsafe(rangeError(`an ordinal below ${count}, the server's GPUs,`, 'deviceId', checked.deviceId));
      }
      await control().registerCudaRegion(checked, call);
    },
    ...commonCalls(
      host,
      (name, call) => control().cudaRegions(name, call),
      (name, call) => control().unregisterCudaRegion(name, call),
    ),
  };
}

/** The calls that are the same for both kinds. */
function commonCalls<Status extends { readonly name: string }>(
  { control, resolve, epoch }: RegionHost,
  list: (name: string, call: ControlCall) => Promise<Status[]>,
  unregister: (name: string, call: ControlCall) => Promise<void>,
): RegionsOfOneKind<Status> {
  return {
    unregister: async (name, options) => unregister(checkRegionName(name, 'name'), resolve(options)),
    unregisterAll: async (options) => unregister(ALL, resolve(options)),
    status: async (name, options) =>
      noneWhenUnknown(list(name === undefined ? ALL : checkRegionName(name, 'name'), resolve(options))),
    async waitUntilReleased(name, options = {}) {
      checkRegionName(name, 'name');
      return withDeadline(name, options, resolve(options.signal && { signal: options.signal }), (call, signal) => {
        const calls = {
          epoch,
          serverVersion: async () => (await control().serverMetadata(call)).version,
          isListed: async () => (await noneWhenUnknown(list(name, call))).length > 0,
          unregister: () => unregister(name, call),
        };
        return waitUntilReleased(calls, name, signal);
      });
    },
  };
}

/** Runs `wait` with a signal that is the user's and the time limit's. */
async function withDeadline(
  name: string,
  { timeoutMs, signal }: ReleaseOptions,
  call: ControlCall,
  wait: (call: ControlCall, signal: AbortSignal) => Promise<ReleaseOutcome>,
): Promise<ReleaseOutcome> {
  const limitMs = integer(milliseconds(timeoutMs ?? call.timeoutMs, 'timeoutMs'), 'timeoutMs', 1);
  const details = `Region '${name}' was still in use after ${limitMs} ms`;
  const tooLate = () =>
    new TritonError(details, { code: 'TRITON_TIMEOUT', method: 'waitUntilReleased', details, region: name });
  return withTimeLimit({ timeoutMs: limitMs, signal, tooLate }, (either) => wait({ ...call, signal: either }, either));
}

/** Whether the server lets clients register memory, by the one call that changes nothing: unregistering an unknown name. */
export async function probeSharedMemory(
  control: ControlTransport,
  name: string,
  call: ControlCall,
): Promise<SharedMemoryState> {
  try {
    await control.unregisterSystemRegion(name, call);
    return 'enabled';
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    if (error.code === 'TRITON_UNIMPLEMENTED') return 'disabled';
    if (error.code === 'TRITON_PERMISSION_DENIED' || /restricted, expecting header/.test(error.details)) {
      return 'restricted';
    }
    throw error;
  }
}

/** A parameter that is silently left out could be one that the caller relies on. */
function checkFields(region: object, known: readonly string[]): void {
  for (const [field, value] of Object.entries(region)) {
    if (known.includes(field)) continue;
    if (/offset/i.test(field)) {
      throw unsafeRequest(
        `register has no ${field}: a region starts at byte 0 of its memory, since servers apply an offset twice and ` +
          'then read past the mapping. Place tensors by the byteOffset of region() instead',
      );
    }
    throw typeError(`only ${known.join(', ')}`, `register's field ${field}`, value);
  }
}

function checkKey(value: unknown): string {
  const key = nonEmpty(value, 'key');
  if (RESERVED_KEY.test(key)) {
    throw unsafe(rangeError("a key without the Python backend's own prefix", 'key', key));
  }
  if (/^\/+$/.test(key)) throw rangeError('a key that is more than slashes', 'key', key);
  return key;
}

/** The server calls a status of an unknown name an error, and so one of the other kind's name. */
async function noneWhenUnknown<T>(answer: Promise<T[]>): Promise<T[]> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TritonError && error.code === 'TRITON_NOT_FOUND') return [];
    throw error;
  }
}
