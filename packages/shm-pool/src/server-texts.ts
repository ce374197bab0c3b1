/**
 * What a server's or client's error means for a region. Read from codes where the client gives them and else from the
 * server's own sentences (seen on 2.48 and 2.51), so that an adapter over a raw stub works too.
 */
import { messageOf, PoolError } from './errors.js';

interface ClientError {
  readonly code?: unknown;
  readonly grpcStatus?: unknown;
  readonly region?: unknown;
  readonly requiredByteLength?: unknown;
}

const GRPC_CANCELLED = 1;
const GRPC_DEADLINE_EXCEEDED = 4;
const GRPC_ALREADY_EXISTS = 6;
const GRPC_UNAVAILABLE = 14;
const GRPC_UNIMPLEMENTED = 12;

const fieldsOf = (error: unknown): ClientError => (typeof error === 'object' && error !== null ? error : {});

const hasStatus = (error: unknown, status: number): boolean => {
  const { code, grpcStatus } = fieldsOf(error);
  return code === status || grpcStatus === status;
};

/** The server cannot be reached, went away, or did not answer in time: nothing is known about what it did. */
export function isUnreachable(error: unknown): boolean {
  const { code } = fieldsOf(error);
  if (isRestricted(error) || isQueueRefusal(error)) return false;
  return (
    isTimeout(error) ||
    code === 'TRITON_UNAVAILABLE' ||
    code === 'TRITON_CONNECTION_LOST' ||
    hasStatus(error, GRPC_UNAVAILABLE)
  );
}

/**
 * A model's queue was full, or kept the request for longer than it may: an answer, and the model did not run. Its status is
 * that of a lost connection, and its text comes with others before it (a request's id, the steps of an ensemble).
 */
export const isQueueRefusal = (error: unknown): boolean =>
  /Exceeds maximum queue size|Request timeout expired/.test(messageOf(error));

/** A control call without an answer in time: the server is there, and may carry it out yet. */
export const isTimeout = (error: unknown): boolean =>
  fieldsOf(error).code === 'TRITON_TIMEOUT' || hasStatus(error, GRPC_DEADLINE_EXCEEDED);

/** A control call of which it is not known whether the server carries it out: also one that was cancelled here. */
export function isUnanswered(error: unknown): boolean {
  const { code } = fieldsOf(error);
  return (
    isUnreachable(error) ||
    code === 'TRITON_CANCELLED' ||
    code === 'TRITON_MALFORMED_RESPONSE' ||
    hasStatus(error, GRPC_CANCELLED)
  );
}

/** A register under a name that the server has. */
export const isRegisteredAlready = (error: unknown): boolean =>
  fieldsOf(error).code === 'TRITON_ALREADY_EXISTS' ||
  hasStatus(error, GRPC_ALREADY_EXISTS) ||
  /already in manager/.test(messageOf(error));

/** An unregister that met a request in flight (2.50 to 2.52). */
export const isInUse = (error: unknown): boolean => /currently in use/.test(messageOf(error));

const isRestricted = (error: unknown): boolean => /restricted, expecting header/.test(messageOf(error));

/** The name in "Unable to find shared memory region: '…'": the server refused the request and executed nothing. */
export function missingRegion(error: unknown): string | undefined {
  const { region } = fieldsOf(error);
  const match = /Unable to find shared memory region: '([^']*)'/.exec(messageOf(error));
  if (match !== null) return match[1];
  return fieldsOf(error).code === 'TRITON_NOT_FOUND' && typeof region === 'string' ? region : undefined;
}

/** Bytes that an output would have needed, and its name. */
export function tooSmallOutput(error: unknown): { output: string; byteLength: number } | undefined {
  const match = /for output '(.*?)' \(\d+ bytes\) should be at least (\d+) bytes/s.exec(messageOf(error));
  return match === null ? undefined : { output: match[1] ?? '', byteLength: Number(match[2]) };
}

/** A server that takes no regions of clients: by its own word when it was asked, or by the registration it refused. */
export function sharedMemoryRefused(state: 'disabled' | 'restricted', cause?: unknown): PoolError {
  const words = cause === undefined ? '' : ` (${messageOf(cause)})`;
  const options = cause === undefined ? undefined : { cause };
  if (state === 'restricted') {
    const message = `The server restricts its shared-memory calls${words}: give the client the header that they ask for`;
    return new PoolError('ERR_SHM_RESTRICTED', message, options);
  }
  const message = `The server refuses client shared memory${words}: start it with --allow-client-shm=true`;
  return new PoolError('ERR_SHM_DISABLED', message, options);
}

/** A region that one server registered and the one that answered next does not list. */
export function notListed(region: string): PoolError {
  return new PoolError(
    'ERR_SEVERAL_SERVERS',
    `Region ${region} was registered, but the server that answered next does not list it: several servers behind this address (a load balancer), one that was replaced meanwhile, or somebody who unregistered all regions. Give the client the address of one server, or try again`,
  );
}

/** The PoolError that a refused registration means, with what to do about it; keeps the server's error as the cause. */
export function registrationError(kind: 'cuda' | 'system', error: unknown): unknown {
  const text = messageOf(error);
  const { code } = fieldsOf(error);
  const as = (poolCode: PoolError['code'], message: string) => new PoolError(poolCode, message, { cause: error });
  if (isRestricted(error)) return sharedMemoryRefused('restricted', error);
  if (
    /shared memory is disabled/i.test(text) ||
    code === 'TRITON_UNIMPLEMENTED' ||
    hasStatus(error, GRPC_UNIMPLEMENTED)
  ) {
    return sharedMemoryRefused('disabled', error);
  }
  if (isUnanswered(error)) return error;
  if (/Unable to open shared memory region/.test(text)) {
    return as(
      'ERR_SHM_NAMESPACE',
      'The server does not see our /dev/shm: run both on one host, as the same user, and give containers one IPC namespace (--ipc=host, or one shared /dev/shm volume)',
    );
  }
  if (kind === 'cuda' && /GPUs not supported/.test(text)) {
    return as('ERR_CUDA_UNAVAILABLE', `The server is a build without GPU support (${text})`);
  }
  if (kind === 'cuda') {
    return as(
      'ERR_IPC_REFUSED',
      `The server could not open our CUDA memory (${text}): it needs a driver, the same GPU, and a process id other than ours (containers: --pid=host); its log names the cause`,
    );
  }
  return as('ERR_SHM_REFUSED', `The server refused the region: ${text}`);
}

/**
 * Whether a server counts the users of a region, so that an accepted unregister proves something. Servers before 2.50
 * do not, and crash or corrupt when a region in use is unregistered; an unknown version is taken for one of those.
 */
export function countsRegionUsers(version: string): boolean {
  const match = /^(\d+)\.(\d+)(\.|$)/.exec(version);
  if (match === null) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return major > 2 || (major === 2 && minor >= 50);
}
