import { setTimeout as pause } from 'node:timers/promises';
import type { InferenceRequest, InferenceResponse, Responder } from '../core/inference.js';
import { type RegionUse, regionWith } from '../core/regions.js';
import { EmulatedCrash } from '../crash.js';
import { ServerError } from '../status.js';
import type { Fault, FaultKind } from './fault.js';

/** A request on its way to the core, and where its answers go. */
export interface Exchanged {
  readonly request: InferenceRequest;
  readonly respond: Responder;
}

type Effect<Kind extends FaultKind['kind']> = (
  fault: Extract<Fault, { readonly kind: Kind }>,
  exchanged: Exchanged,
) => Exchanged;

/** What each kind of fault does. */
const EFFECTS: { readonly [Kind in FaultKind['kind']]: Effect<Kind> } = {
  delay: ({ ms }, { request, respond }) => ({
    request: onRegions(request, (region) => ({ release: () => later(ms, () => region.release()) })),
    respond: (response) => later(ms, () => respond(response)),
  }),
  refuse: ({ code, message }) => {
    throw new ServerError(code, message);
  },
  silence: (_, { request }) => ({
    request: onRegions(request, () => ({ release: () => undefined })),
    respond: () => undefined,
  }),
  'late-write': ({ ms }, { request, respond }) => ({
    request: onRegions(request, (region) => ({ write: lateWrite(region, request.signal, ms) })),
    respond,
  }),
  'wrong-size': ({ bytes }, { request, respond }) => ({
    request,
    respond: (response) => respond({ ...response, outputs: response.outputs.map((output) => resized(output, bytes)) }),
  }),
  unparsable: (_, { request, respond }) => ({
    request,
    respond: (response) => respond({ ...response, garbled: true }),
  }),
  'no-final': (_, { request, respond }) => ({
    request,
    // What ends a request inside the server, its references to regions for one, still happens.
    respond: (response) => respond({ ...response, saysFinal: false, ...(response.empty ? { lost: true } : {}) }),
  }),
  'lose-answer': ({ index }, { request, respond }) => ({
    request,
    respond: counted((response, at) => respond(at === index ? { ...response, lost: true } : response)),
  }),
  reorder: (_, { request, respond }) => ({ request, respond: reordered(respond) }),
  crash: () => {
    throw new EmulatedCrash('the fault "crash"');
  },
};

/**
 * A request and its answers under a fault.
 *
 * @throws ServerError for a refusal
 * @throws EmulatedCrash for a crash
 */
export function underFault(fault: Fault, exchanged: Exchanged): Exchanged {
  const effect = EFFECTS[fault.kind] as (fault: Fault, exchanged: Exchanged) => Exchanged;
  return effect(fault, exchanged);
}

/** Timers keep no process from ending: those that are answered have connections, which do. */
function later(ms: number, act: () => void): void {
  setTimeout(act, ms).unref();
}

/** A request with other ways of what it does to regions. */
function onRegions(
  request: InferenceRequest,
  change: (region: RegionUse) => Partial<Pick<RegionUse, 'write' | 'release'>>,
): InferenceRequest {
  const changed = (region: RegionUse) => regionWith(region, change(region));
  return {
    ...request,
    inputs: request.inputs.map((input) =>
      'region' in input.source ? { ...input, source: { region: changed(input.source.region) } } : input,
    ),
    outputs: request.outputs.map((output) =>
      output.region === undefined ? output : { ...output, region: changed(output.region) },
    ),
  };
}

function lateWrite(region: RegionUse, signal: AbortSignal, ms: number): RegionUse['write'] {
  return async (bytes) => {
    // A copy: what the model gave may be a view of what has changed by then.
    const kept = new Uint8Array(bytes);
    if (signal.aborted) await pause(ms, undefined, { ref: false });
    await region.write(kept);
  };
}

function resized<T extends { readonly bytes: Uint8Array | undefined }>(output: T, by: number): T {
  if (output.bytes === undefined) return output;
  const bytes = new Uint8Array(Math.max(0, output.bytes.byteLength + by));
  bytes.set(output.bytes.subarray(0, bytes.byteLength));
  return { ...output, bytes };
}

function counted(respond: (response: InferenceResponse, index: number) => void): Responder {
  let index = 0;
  return (response) => {
    respond(response, index);
    index += 1;
  };
}

function reordered(respond: Responder): Responder {
  let held: InferenceResponse | undefined;
  return (response) => {
    if (held === undefined && !response.final) {
      held = response;
      return;
    }
    const first = held;
    held = undefined;
    if (first === undefined) {
      respond(response);
      return;
    }
    // The one that ends the request is told last, whatever it carries.
    if (response.final && response.empty) {
      respond(first);
      respond(response);
      return;
    }
    respond({ ...response, final: false });
    respond({ ...first, final: response.final });
  };
}
