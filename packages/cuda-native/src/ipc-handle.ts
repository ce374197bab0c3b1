import { util } from './builtins.js';
import { bytesOf } from './bytes-of.js';
import { checkNonNegativeInteger, checkPositiveInteger, invalid } from './check.js';

/**
 * What another process needs to open device memory. `rawHandle` of a peer is untrusted input: the driver rejects most
 * forgeries, no more.
 */
export interface IpcMemHandle {
  /** The driver's CUipcMemHandle: 64 bytes. */
  readonly rawHandle: Uint8Array;
  /** Where the shared part starts, in bytes from the base of the allocation. */
  readonly byteOffset: number;
  /** Size of the whole allocation in bytes; the peer can reach all of it. */
  readonly allocationByteLength: number;
  /** The device that holds it, as `GPU-…`. */
  readonly deviceUuid: string;
}

const RAW_HANDLE_BYTES = 64;

/**
 * A handle of another process, checked as far as can be.
 *
 * @param deviceUuid of the device that is to open it
 * @throws TypeError | RangeError
 */
export function checkIpcHandle(handle: unknown, deviceUuid: string): IpcMemHandle {
  if (typeof handle !== 'object' || handle === null) throw invalid('handle', 'IpcMemHandle', handle);
  const given = handle as Partial<Record<keyof IpcMemHandle, unknown>>;
  const { rawHandle: raw, byteOffset, allocationByteLength, deviceUuid: uuid } = given;
  const expected = 'Uint8Array of 64 bytes';
  if (!util.types.isUint8Array(raw)) throw invalid('rawHandle', expected, raw);
  const rawHandle = bytesOf('rawHandle', raw, expected);
  if (rawHandle.byteLength !== RAW_HANDLE_BYTES) {
    throw new RangeError(`Expected ${expected} for rawHandle but received ${rawHandle.byteLength} bytes`);
  }
  checkPositiveInteger('allocationByteLength', allocationByteLength);
  checkNonNegativeInteger('byteOffset', byteOffset);
  if (byteOffset >= allocationByteLength) {
    throw invalid('byteOffset', `integer below ${allocationByteLength}`, byteOffset, RangeError);
  }
  if (uuid !== deviceUuid) {
    throw invalid('deviceUuid', `this device's ${deviceUuid}`, uuid, RangeError);
  }
  return { rawHandle, byteOffset, allocationByteLength, deviceUuid };
}
