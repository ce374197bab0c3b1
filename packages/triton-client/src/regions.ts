import { exactNumber } from './answers.js';
import { integer, nonEmpty, rangeError, typeError } from './check.js';
import type { UnaryMethod } from './connection.js';
import { TritonError } from './errors.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';
import type { CudaRegions, SystemRegions } from './types.js';

/** A unary call of the client that owns the regions' connection. */
export type ControlCall = <Request, Response>(
  name: string,
  method: UnaryMethod<Request, Response>,
  request: Request,
) => Promise<Response>;

/** The size of a CUDA IPC handle. The server does not check it and reads past a short one. */
const IPC_HANDLE_BYTES = 64;
/** What the server takes for "all regions of this kind". */
const ALL = '';

export function systemRegions(call: ControlCall): SystemRegions {
  const unregister = (name: string) =>
    call('SystemSharedMemoryUnregister', Service.systemSharedMemoryUnregister, { name }).then(() => {});
  return {
    async register({ name, key, byteLength }) {
      const request = {
        name: nonEmpty(name, 'name'),
        key: nonEmpty(key, 'key'),
        offset: 0n,
        byteSize: BigInt(integer(byteLength, 'byteLength', 1)),
      };
      await call('SystemSharedMemoryRegister', Service.systemSharedMemoryRegister, request);
    },
    unregister: async (name) => unregister(nonEmpty(name, 'name')),
    unregisterAll: () => unregister(ALL),
    async status(name) {
      const request = { name: name === undefined ? ALL : nonEmpty(name, 'name') };
      const answer = await unlessUnknown(call('SystemSharedMemoryStatus', Service.systemSharedMemoryStatus, request));
      return Object.values(answer?.regions ?? {}).map((region) => ({
        name: region.name,
        key: region.key,
        byteOffset: exactNumber('SystemSharedMemoryStatus', `the offset of '${region.name}'`, region.offset),
        byteLength: exactNumber('SystemSharedMemoryStatus', `the size of '${region.name}'`, region.byteSize),
      }));
    },
  };
}

export function cudaRegions(call: ControlCall): CudaRegions {
  const unregister = (name: string) =>
    call('CudaSharedMemoryUnregister', Service.cudaSharedMemoryUnregister, { name }).then(() => {});
  return {
    async register({ name, rawHandle, deviceId, byteLength }) {
      if (!(rawHandle instanceof Uint8Array)) throw typeError('Uint8Array', 'rawHandle', rawHandle);
      if (rawHandle.byteLength !== IPC_HANDLE_BYTES) {
        throw rangeError(`${IPC_HANDLE_BYTES} bytes`, 'rawHandle', rawHandle.byteLength);
      }
      const request = {
        name: nonEmpty(name, 'name'),
        rawHandle,
        deviceId: BigInt(integer(deviceId, 'deviceId', 0)),
        byteSize: BigInt(integer(byteLength, 'byteLength', 1)),
      };
      await call('CudaSharedMemoryRegister', Service.cudaSharedMemoryRegister, request);
    },
    unregister: async (name) => unregister(nonEmpty(name, 'name')),
    unregisterAll: () => unregister(ALL),
    async status(name) {
      const request = { name: name === undefined ? ALL : nonEmpty(name, 'name') };
      const answer = await unlessUnknown(call('CudaSharedMemoryStatus', Service.cudaSharedMemoryStatus, request));
      return Object.values(answer?.regions ?? {}).map((region) => ({
        name: region.name,
        deviceId: exactNumber('CudaSharedMemoryStatus', `the device of '${region.name}'`, region.deviceId),
        byteLength: exactNumber('CudaSharedMemoryStatus', `the size of '${region.name}'`, region.byteSize),
      }));
    },
  };
}

/** The server calls a status of an unknown name an error, and so one of the other kind's name. */
async function unlessUnknown<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TritonError && error.code === 'TRITON_NOT_FOUND') return undefined;
    throw error;
  }
}
