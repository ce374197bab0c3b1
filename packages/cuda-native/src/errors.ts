import { getSystemErrorName } from 'node:util';

/**
 * Marks instances so that `instanceof` also holds for errors of another copy of this package in the same process.
 * Matching on `code` is still the better test.
 */
function isBranded(value: unknown, brand: symbol): boolean {
  return typeof value === 'object' && value !== null && brand in value;
}

/** On the prototype, so that the stack, which is taken in Error's constructor, begins with it. */
function nameErrors(ErrorClass: { prototype: Error }, name: string): void {
  Object.defineProperty(ErrorClass.prototype, 'name', { value: name, configurable: true, writable: true });
}

const NATIVE_BRAND = Symbol.for('@zerohop/cuda-native/NativeUnavailableError');
const UNAVAILABLE_BRAND = Symbol.for('@zerohop/cuda-native/CudaUnavailableError');
const CUDA_BRAND = Symbol.for('@zerohop/cuda-native/CudaError');
const DISPOSED_BRAND = Symbol.for('@zerohop/cuda-native/DisposedError');
const BUSY_BRAND = Symbol.for('@zerohop/cuda-native/BusyError');
const SHM_BRAND = Symbol.for('@zerohop/cuda-native/SharedMemoryError');

/** The addon has no binary for this platform, or it did not load; `cause` has the loader's error. */
export class NativeUnavailableError extends Error {
  static {
    nameErrors(NativeUnavailableError, 'NativeUnavailableError');
  }

  readonly code = 'ERR_NATIVE_UNAVAILABLE';
  readonly [NATIVE_BRAND] = true;

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, NATIVE_BRAND);
  }
}

/**
 * Why CUDA can't be used here: no binary of this package for the platform, no driver library, a driver without a
 * function we need, kernel module and library of different versions, no GPU, or another failure of `cuInit`.
 */
export type CudaUnavailableReason =
  | 'no-prebuild'
  | 'no-driver'
  | 'driver-too-old'
  | 'driver-mismatch'
  | 'no-device'
  | 'init-failed';

/** CUDA can't be used on this machine. */
export class CudaUnavailableError extends Error {
  static {
    nameErrors(CudaUnavailableError, 'CudaUnavailableError');
  }

  readonly code = 'ERR_CUDA_UNAVAILABLE';
  readonly reason: CudaUnavailableReason;
  /** One line for each library that did not load. */
  readonly tried: readonly string[];
  readonly [UNAVAILABLE_BRAND] = true;

  constructor(message: string, reason: CudaUnavailableReason, tried: readonly string[], options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.tried = tried;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, UNAVAILABLE_BRAND);
  }
}

/** A call of the CUDA driver failed. */
export class CudaError extends Error {
  static {
    nameErrors(CudaError, 'CudaError');
  }

  /** The driver's name of the error, such as `CUDA_ERROR_OUT_OF_MEMORY`. */
  readonly code: string;
  /** The CUresult. */
  readonly status: number;
  /** The driver function that failed. */
  readonly call: string;
  /** The device's ordinal, when the call had one. */
  readonly device: number | undefined;
  /** The context is lost: every later call on this device fails as well, and only a restart of the process helps. */
  readonly sticky: boolean;
  readonly [CUDA_BRAND] = true;

  constructor(message: string, fields: Pick<CudaError, 'code' | 'status' | 'call' | 'device' | 'sticky'>) {
    super(message);
    this.code = fields.code;
    this.status = fields.status;
    this.call = fields.call;
    this.device = fields.device;
    this.sticky = fields.sticky;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, CUDA_BRAND);
  }
}

/** Something was used after it was closed. */
export class DisposedError extends Error {
  static {
    nameErrors(DisposedError, 'DisposedError');
  }

  readonly code = 'ERR_DISPOSED';
  readonly [DISPOSED_BRAND] = true;

  constructor(what: string) {
    super(`This ${what} is closed`);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, DISPOSED_BRAND);
  }
}

/** Something can't be closed synchronously because an operation is using it. */
export class BusyError extends Error {
  static {
    nameErrors(BusyError, 'BusyError');
  }

  readonly code = 'ERR_BUSY';
  readonly [BUSY_BRAND] = true;

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, BUSY_BRAND);
  }
}

/** `ERR_SHM_SYSTEM` is every other failed system call; `errno` and `call` name it. */
export type SharedMemoryErrorCode =
  | 'ERR_SHM_FULL'
  | 'ERR_SHM_EXISTS'
  | 'ERR_SHM_NOT_FOUND'
  | 'ERR_SHM_RANGE'
  | 'ERR_SHM_SYSTEM';

/** An operation on POSIX shared memory failed. */
export class SharedMemoryError extends Error {
  static {
    nameErrors(SharedMemoryError, 'SharedMemoryError');
  }

  readonly code: SharedMemoryErrorCode;
  /** The system's name of the error, such as `ENOSPC`. */
  readonly errno: string;
  /** The system call that failed. */
  readonly call: string;
  readonly [SHM_BRAND] = true;

  constructor(message: string, code: SharedMemoryErrorCode, errno: string, call: string) {
    super(message);
    this.code = code;
    this.errno = errno;
    this.call = call;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, SHM_BRAND);
  }
}

/** What the addon reports of a failure. */
export interface NativeFailure {
  readonly source: 'cuda' | 'system' | 'unavailable' | 'shared-memory';
  readonly status: number;
  readonly call: string;
  readonly reason: string;
  readonly detail: string;
  readonly device: number;
  readonly name: string;
  readonly text: string;
}

/**
 * After these the driver refuses every later call on the context ("the context cannot be used", "process must be
 * terminated and relaunched" in the description of CUresult).
 */
const STICKY = new Set([214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810]);

const ADVICE: Record<CudaUnavailableReason, string> = {
  'no-prebuild': 'Use Linux with glibc on x64 or arm64',
  'no-driver':
    'Install the NVIDIA driver; in a container start it with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility',
  'driver-too-old': 'Update the NVIDIA driver (470 or newer)',
  'driver-mismatch': 'The loaded kernel module and libcuda are of different driver versions: restart the machine',
  'no-device': 'The driver sees no GPU: look at nvidia-smi and CUDA_VISIBLE_DEVICES',
  'init-failed': 'Look at nvidia-smi and the kernel log',
};

/** The sentence for a machine without CUDA. */
export function unavailableMessage(reason: CudaUnavailableReason, what: string): string {
  return `CUDA is not available: ${what}. ${ADVICE[reason]}`;
}

function sharedMemoryError(failure: NativeFailure): SharedMemoryError {
  const errno = failure.status === 0 ? '' : getSystemErrorName(-failure.status);
  switch (failure.reason) {
    case 'full':
      return new SharedMemoryError(
        `Shared memory is full: ${failure.detail}. Free some, or give the container more (docker run --shm-size=…, ` +
          'or --ipc=host)',
        'ERR_SHM_FULL',
        errno,
        failure.call,
      );
    case 'exists':
      return new SharedMemoryError(`${failure.detail}: choose another key`, 'ERR_SHM_EXISTS', errno, failure.call);
    case 'absent':
      return new SharedMemoryError(
        `${failure.detail}. Both processes must see the same /dev/shm (docker run --ipc=…)`,
        'ERR_SHM_NOT_FOUND',
        errno,
        failure.call,
      );
    case 'range':
      return new SharedMemoryError(failure.detail, 'ERR_SHM_RANGE', errno, failure.call);
    default:
      return new SharedMemoryError(
        `${failure.call} failed: ${errno} (${failure.detail})`,
        'ERR_SHM_SYSTEM',
        errno,
        failure.call,
      );
  }
}

function cudaError(failure: NativeFailure): CudaError {
  const sticky = STICKY.has(failure.status);
  const where = failure.device >= 0 ? ` on device ${failure.device}` : '';
  const detail = failure.detail === '' ? '' : `; ${failure.detail}`;
  const restart = sticky ? '. The CUDA context is lost: restart the process' : '';
  return new CudaError(`${failure.call} failed: ${failure.name} (${failure.text})${detail}${where}${restart}`, {
    code: failure.name,
    status: failure.status,
    call: failure.call,
    device: failure.device >= 0 ? failure.device : undefined,
    sticky,
  });
}

/** Turns what the addon reports into the error that users see; the addon calls it. */
export function errorFrom(failure: NativeFailure): Error {
  if (failure.source === 'cuda') return cudaError(failure);
  if (failure.source === 'unavailable') {
    const [what = '', ...tried] = failure.detail.split('\n');
    const reason = failure.reason as CudaUnavailableReason;
    return new CudaUnavailableError(unavailableMessage(reason, what), reason, tried);
  }
  return sharedMemoryError(failure);
}
