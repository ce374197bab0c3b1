import { ServerError } from '../status.js';

export type Native = typeof import('@zerohop/cuda-native');

let loading: Promise<Native> | undefined;

/** What a client reads when memory can't be mapped here at all: a real server always can. */
export function unusable(cause: unknown): ServerError {
  const message = `Shared memory needs the package @zerohop/cuda-native, which does not work here: ${String(cause)}`;
  return Object.assign(new ServerError('UNSUPPORTED', message), { cause });
}

/** The peer that maps memory, loaded when the first region is registered. @throws ServerError when it can't be loaded */
export async function native(): Promise<Native> {
  loading ??= import('@zerohop/cuda-native');
  try {
    return await loading;
  } catch (cause) {
    loading = undefined;
    throw unusable(cause);
  }
}
