import { channel } from 'node:diagnostics_channel';
import type { InferResult } from './types/result.js';

/** What `zerohop:triton-client:request:start` publishes; `…:end` publishes the same object with what became of it. */
export interface RequestMessage {
  /** The client's address. */
  readonly url: string;
  readonly model: string;
  readonly id: string;
  /** Memory of the caller is part of the request. */
  readonly namesRegion: boolean;
  /** From `infer()` until the caller got the answer or the error, in milliseconds. */
  durationMs?: number;
  result?: InferResult;
  error?: unknown;
}

/** What `zerohop:triton-client:connection` publishes. */
export interface ConnectionMessage {
  readonly url: string;
  readonly state: 'up' | 'down';
  /** As the client's `connectionEpoch` counts, for this connection alone. */
  readonly epoch: number;
}

const START = channel('zerohop:triton-client:request:start');
const END = channel('zerohop:triton-client:request:end');
const CONNECTION = channel('zerohop:triton-client:connection');

/** Whether somebody listens to requests. */
export const requestsAreWatched = (): boolean => START.hasSubscribers || END.hasSubscribers;

export const publishStart = (message: RequestMessage): void => START.publish(message);

export const publishEnd = (message: RequestMessage): void => END.publish(message);

export function publishConnection(url: string, state: ConnectionMessage['state'], epoch: number): void {
  if (CONNECTION.hasSubscribers) CONNECTION.publish({ url, state, epoch } satisfies ConnectionMessage);
}
