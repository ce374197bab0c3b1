/** Memory that somebody else allocated, as it is given to be registered. */
import type { DeviceMemory, IpcMemHandle } from '@zerohop/cuda-native';
import { checkedInteger } from './check.js';
import { outOfRange, wrongType } from './errors.js';
import type { AdoptedPart } from './memory/cuda-memory.js';
import { warn } from './warnings.js';

/** The driver reserves memory for export in these steps, in bytes; what it adds is nobody's. */
const GRANULARITY = 2 * 1024 * 1024;
const RAW_HANDLE_BYTES = 64;

/**
 * What is to be registered of memory that somebody else owns.
 * @throws TypeError for memory that can't be exported, RangeError; ERR_DISPOSED for memory that is closed
 */
export function partOf(memory: DeviceMemory | IpcMemHandle, wanted: number | undefined): AdoptedPart {
  const given: unknown = memory;
  if (typeof given !== 'object' || given === null) {
    throw wrongType('memory', 'DeviceMemory or IpcMemHandle', given);
  }
  const own = 'exportIpc' in memory ? memory : undefined;
  const handle = own?.exportIpc() ?? checkHandle(memory as IpcMemHandle);
  const whole = own?.byteLength ?? handle.allocationByteLength - handle.byteOffset;
  const byteLength = checkedInteger('byteLength', wanted, 1, whole);
  if (byteLength > whole) throw outOfRange('byteLength', `integer of at most ${whole}`, byteLength);
  return { handle, byteLength, memory: own };
}

/** Checks what another process sent: the server reads past a short handle, and past an allocation that is too small. */
function checkHandle(handle: IpcMemHandle): IpcMemHandle {
  const { rawHandle, byteOffset, allocationByteLength, deviceUuid } = handle;
  if (!(rawHandle instanceof Uint8Array)) throw wrongType('rawHandle', 'Uint8Array of 64 bytes', rawHandle);
  if (rawHandle.byteLength !== RAW_HANDLE_BYTES) {
    throw outOfRange('rawHandle.byteLength', `${RAW_HANDLE_BYTES}`, rawHandle.byteLength);
  }
  if (allocationByteLength === undefined) {
    throw wrongType('allocationByteLength', 'positive integer', allocationByteLength);
  }
  if (byteOffset === undefined) throw wrongType('byteOffset', 'non-negative integer', byteOffset);
  checkedInteger('allocationByteLength', allocationByteLength, 1, 1);
  checkedInteger('byteOffset', byteOffset, 0, 0);
  if (byteOffset >= allocationByteLength) {
    throw outOfRange('byteOffset', `integer below ${allocationByteLength}`, byteOffset);
  }
  if (typeof deviceUuid !== 'string') throw wrongType('deviceUuid', 'string', deviceUuid);
  return { rawHandle: rawHandle.slice(), byteOffset, allocationByteLength, deviceUuid };
}

/** Says when the server is shown more of an allocation than was given. */
export function warnOfWholeAllocation(name: string, { handle, byteLength }: AdoptedPart): void {
  const { byteOffset, allocationByteLength } = handle;
  const reserved = Math.ceil(byteLength / GRANULARITY) * GRANULARITY;
  if (byteOffset === 0 && allocationByteLength <= reserved) return;
  warn(
    'ZEROHOP_WHOLE_ALLOCATION',
    `Region ${name} is ${byteLength} of the ${allocationByteLength} bytes of an allocation, and its handle shows the server all of them: allocate memory to be shared by itself`,
  );
}
