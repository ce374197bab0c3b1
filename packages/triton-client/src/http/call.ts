import { offAbort, onAbort } from '../abort-listeners.js';
import type { ControlCall } from '../control.js';
import type { TritonError } from '../errors.js';
import { decompressResponse } from './compression.js';
import type { HttpConnection, OutgoingRequest } from './connection.js';
import { errorOfFailure, type HttpCallNames, httpError } from './errors.js';
import { type Exchange, HttpFailure } from './exchange.js';
import type { HttpResponse } from './response.js';

/** How long, and until which signal, a call may take. */
type Patience = Partial<Pick<ControlCall, 'timeoutMs' | 'signal'>>;

/**
 * One request and its answer, whatever its status.
 *
 * @throws TritonError, or the signal's reason
 */
export async function call(
  connection: HttpConnection,
  request: OutgoingRequest,
  names: HttpCallNames,
  patience: Patience,
  started?: (exchange: Exchange) => void,
): Promise<HttpResponse> {
  const { signal, timeoutMs } = patience;
  signal?.throwIfAborted();
  const exchange = connection.send(request);
  started?.(exchange);
  let stopped: { readonly reason: unknown } | undefined;
  const stop = (reason: unknown) => {
    stopped ??= { reason };
    exchange.abort(new Error('the caller stopped waiting'));
  };
  const onSignal = () => stop(signal?.reason);
  if (signal !== undefined) onAbort(signal, onSignal);
  const overdue = () => stop(timeoutError(connection, names, timeoutMs as number));
  const timer = timeoutMs === undefined ? undefined : setTimeout(overdue, timeoutMs);
  try {
    return await decompressResponse(await exchange.answer);
  } catch (error) {
    if (stopped !== undefined) throw stopped.reason;
    const failure = error instanceof HttpFailure ? error : new HttpFailure(true, error);
    throw errorOfFailure(failure, connection.address, names);
  } finally {
    clearTimeout(timer);
    if (signal !== undefined) offAbort(signal, onSignal);
  }
}

function timeoutError({ address }: HttpConnection, names: HttpCallNames, timeoutMs: number): TritonError {
  return httpError('TRITON_TIMEOUT', `no answer within ${timeoutMs} ms`, names, { at: address });
}
