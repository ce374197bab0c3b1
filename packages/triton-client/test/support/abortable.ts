import type { CallOptions, InferCall, InferRequest, TritonClient } from '../../src/index.js';
import { REASON } from './requests.js';

/** A request whose caller can be made to leave; a short time limit could end before the request is sent. */
export function abortable(
  client: TritonClient,
  request: InferRequest,
  options: CallOptions = {},
): { call: InferCall; abort: () => void } {
  const controller = new AbortController();
  const call = client.infer('m', request, { ...options, signal: controller.signal });
  return { call, abort: () => controller.abort(REASON) };
}
