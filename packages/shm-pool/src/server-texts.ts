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
  if (isRestricted(error)) return false;
  return (
    isTimeout(error) ||
    code === 'TRITON_UNAVAILABLE' ||
    code === 'TRITON_CONNECTION_LOST' ||
    hasStatus(error, GRPC_UNAVAILABLE)
  );
}

/** A control call without an answer in time: the server is there, and may carry it out yet. */
export const isTimeout = (error: unknown): boolean =>
  fieldsOf(error).code === 'TRITON_TIMEOUT' || hasStatus(error, GRPC_DEADLINE_EXCEEDED);

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
  const match = /for output '([^']*)' \(\d+ bytes\) should be at least (\d+) bytes/.exec(messageOf(error));
  return match === null ? undefined : { output: match[1] ?? '', byteLength: Number(match[2]) };
}

/** The PoolError that a refused registration means, with what to do about it; keeps the server's error as the cause. */
export function registrationError(kind: 'cuda' | 'system', error: unknown): unknown {
  const text = messageOf(error);
  const { code } = fieldsOf(error);
  const as = (poolCode: PoolError['code'], message: string) => new PoolError(poolCode, message, { cause: error });
  if (isRestricted(error)) {
    return as(
      'ERR_SHM_RESTRICTED',
      `The server restricts its shared-memory calls (${text}): give the client that header`,
    );
  }
  if (
    /shared memory is disabled/i.test(text) ||
    code === 'TRITON_UNIMPLEMENTED' ||
    hasStatus(error, GRPC_UNIMPLEMENTED)
  ) {
    return as(
      'ERR_SHM_DISABLED',
      `The server refuses client shared memory (${text}): start it with --allow-client-shm=true`,
    );
  }
  if (isUnreachable(error)) return error;
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
      'ERR_SHM_REFUSED',
      `The server could not open our CUDA memory (${text}): it needs the same GPU, a driver, and a process id other than ours (containers: --pid=host); its log names the cause`,
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
