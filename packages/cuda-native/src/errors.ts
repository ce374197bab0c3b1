import { util } from './builtins.js';
import { diagnose } from './diagnosis/diagnose.js';
import type { CudaUnavailableReason, Failure } from './diagnosis/diagnosis.js';
import { gatherFacts } from './diagnosis/machine-facts.js';
import { isBranded, nameErrors } from './error-brand.js';
import { nvjpegFailure } from './nvjpeg-errors.js';

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
  /** The driver function that failed; with `sticky`, the one that told of the loss. */
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

/** @internal Whether the error says that a context is lost: then nothing of it can be, or need be, given back. */
export function losesContext(error: unknown): boolean {
  return error instanceof CudaError && error.sticky;
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
  readonly source: 'cuda' | 'nvjpeg' | 'system' | 'unavailable' | 'shared-memory';
  readonly status: number;
  readonly call: string;
  readonly reason: string;
  readonly detail: string;
  readonly device: number;
  readonly name: string;
  readonly text: string;
  /** The context is lost. */
  readonly sticky: boolean;
  /** It was lost before, by `call`: the driver was not asked. */
  readonly refused: boolean;
}

/** The error for a failure on the way to CUDA, after a look at this machine. */
export function unavailableError(
  failure: Failure,
  tried: readonly string[] = [],
  options?: ErrorOptions,
): CudaUnavailableError {
  const { reason, what, advice } = diagnose(failure, gatherFacts());
  return new CudaUnavailableError(`CUDA is not available: ${what}. ${advice}`, reason, tried, options);
}

/** What the addon reports of a driver that does not load, does not start or has not the device. */
function driverError({ reason, status, detail }: NativeFailure): CudaUnavailableError {
  if (reason === 'no-such-device') return unavailableError({ kind: reason, text: detail });
  const [text = '', ...tried] = detail.split('\n');
  switch (reason) {
    case 'not-loaded':
      return unavailableError({ kind: reason, tried }, tried);
    case 'missing-symbol':
      return unavailableError({ kind: reason, symbol: text }, tried);
    case 'none-listed':
      return unavailableError({ kind: reason }, tried);
    default:
      return unavailableError({ kind: 'init', status, text }, tried);
  }
}

function sharedMemoryError(failure: NativeFailure): SharedMemoryError {
  const errno = failure.status === 0 ? '' : util.getSystemErrorName(-failure.status);
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
  const { sticky, refused } = failure;
  const where = failure.device >= 0 ? ` on device ${failure.device}` : '';
  const detail = failure.detail === '' ? '' : `; ${failure.detail.trim()}`;
  const restart = sticky ? '. The CUDA context is lost: restart the process' : '';
  const before = refused ? 'Not tried, since ' : '';
  const message = `${before}${failure.call} failed: ${failure.name} (${failure.text})${detail}${where}${restart}`;
  return new CudaError(message, {
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
  if (failure.source === 'nvjpeg') return nvjpegFailure(failure);
  if (failure.source === 'unavailable') return driverError(failure);
  return sharedMemoryError(failure);
}
