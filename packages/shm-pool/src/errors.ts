/** The errors of this package. Match on `code`, not on the class or the text. */

/**
 * - `ERR_POOL_TIMEOUT`: no slot became free, or the slot's work did not finish, within `timeoutMs`; nothing was sent.
 * - `ERR_POOL_QUEUE_FULL`: `queueLimit` callers wait already.
 * - `ERR_POOL_CLOSED`: the pool was closed while this caller waited for a slot, or before its request was sent.
 * - `ERR_POOL_EXHAUSTED`: every slot had to be retired; no memory is left to lend.
 * - `ERR_POOL_RESIZE`: a slot could not be made for `resize`, since the server or the client refused; `cause` says why.
 * - `ERR_DISPOSED`: a pool, region or opened block was used after it was closed, destroyed or released.
 * - `ERR_LEASE_RELEASED`: the lease was used, or released again, after its release.
 * - `ERR_LEASE_DETACHED`: the lease's request timed out, was aborted or lost its connection, or the pool was closed.
 * - `ERR_LEASE_BUSY`: a request of this lease is already in flight.
 * - `ERR_SHM_DISABLED`: the server refuses client shared memory (`--allow-client-shm=true` allows it).
 * - `ERR_SHM_RESTRICTED`: the server keeps its shared-memory calls behind a header.
 * - `ERR_SHM_NAMESPACE`: the server does not see this process's /dev/shm.
 * - `ERR_SHM_PERMISSION`: the server sees this process's /dev/shm, but runs as a user who may not open what is ours.
 * - `ERR_SHM_FULL`: /dev/shm has no room for the slots or the region.
 * - `ERR_SHM_REFUSED`: the server refused the region for another reason; the text carries it.
 * - `ERR_CUDA_UNAVAILABLE`, `ERR_NATIVE_UNAVAILABLE`: no usable GPU or driver; no addon for this platform.
 * - `ERR_SEVERAL_SERVERS`: one server registered the region and another one answered next.
 * - `ERR_IPC_UNSUPPORTED`: the GPU's memory cannot be handed to another process (integrated GPU, WSL).
 * - `ERR_IPC_REFUSED`: the server could not open our device memory; the text lists what can be the cause here.
 * - `ERR_PID_COLLISION`: the server could not open our device memory because its process id is ours.
 * - `ERR_GPU_MISMATCH`: which of the server's GPUs is ours could not be settled; pass `serverDeviceId`.
 * - `ERR_VERIFY_FAILED`: an answer by the chosen transport differs from the one by messages.
 * - `ERR_DECOUPLED_OUTPUTS`: a decoupled model sends several answers, which would all write one block.
 * - `ERR_TENSOR_SIZE`: a tensor's size cannot be planned from the model's metadata and the options, or there is no
 *   memory that could hold the tensor, or that many slots.
 * - `ERR_UNKNOWN_TENSOR`: the model has no such input or output, or the request did not ask for that output.
 * - `ERR_OUTPUT_IN_MESSAGE`: with transport `'bytes'` an output exists only in the reply.
 * - `ERR_BLOCK_LOCAL`: a block's handle was asked for where no other thread can see the memory, or comes from another process.
 * - `ERR_OUTPUT_TOO_LARGE`: the model's output did not fit the block planned for it, and it may not grow.
 * - `ERR_ANSWER_MISMATCH`: the answer's outputs are not the ones that the slot was planned for.
 */
export type PoolErrorCode =
  | 'ERR_POOL_TIMEOUT'
  | 'ERR_POOL_QUEUE_FULL'
  | 'ERR_POOL_CLOSED'
  | 'ERR_POOL_EXHAUSTED'
  | 'ERR_POOL_RESIZE'
  | 'ERR_DISPOSED'
  | 'ERR_LEASE_RELEASED'
  | 'ERR_LEASE_DETACHED'
  | 'ERR_LEASE_BUSY'
  | 'ERR_SHM_DISABLED'
  | 'ERR_SHM_RESTRICTED'
  | 'ERR_SHM_NAMESPACE'
  | 'ERR_SHM_PERMISSION'
  | 'ERR_SHM_FULL'
  | 'ERR_SHM_REFUSED'
  | 'ERR_CUDA_UNAVAILABLE'
  | 'ERR_NATIVE_UNAVAILABLE'
  | 'ERR_SEVERAL_SERVERS'
  | 'ERR_IPC_UNSUPPORTED'
  | 'ERR_IPC_REFUSED'
  | 'ERR_PID_COLLISION'
  | 'ERR_GPU_MISMATCH'
  | 'ERR_VERIFY_FAILED'
  | 'ERR_DECOUPLED_OUTPUTS'
  | 'ERR_TENSOR_SIZE'
  | 'ERR_UNKNOWN_TENSOR'
  | 'ERR_OUTPUT_IN_MESSAGE'
  | 'ERR_BLOCK_LOCAL'
  | 'ERR_OUTPUT_TOO_LARGE'
  | 'ERR_ANSWER_MISMATCH';

const BRAND = Symbol.for('@zerohop/shm-pool.PoolError');

/** An error of the pool: what happened, in a sentence that says what to do. */
export class PoolError extends Error {
  readonly code: PoolErrorCode;

  constructor(code: PoolErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PoolError';
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for every copy of this package in the process. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}

const described = (value: unknown) =>
  typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : String(value);

/** A TypeError for an argument of the wrong type, worded alike in every package. */
export function wrongType(name: string, expected: string, actual: unknown): TypeError {
  return new TypeError(`Expected ${expected} for ${name} but received ${described(actual)} of type ${typeof actual}`);
}

/** A RangeError for an argument of the right type and a wrong value. */
export function outOfRange(name: string, expected: string, actual: unknown): RangeError {
  return new RangeError(`Expected ${expected} for ${name} but received ${described(actual)} of type ${typeof actual}`);
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The code of an error, whoever threw it. */
export const codeOf = (error: unknown): unknown => (Object(error) as { readonly code?: unknown }).code;

/** What was thrown, as an Error. */
export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
