/** What a slot asks of the server. */
import type { ClientRequest } from './client.js';
import type { SlotTensor } from './slot-memory.js';

export interface InferOptions {
  /** Echoed in the answer. */
  readonly id?: string;
  readonly parameters?: Readonly<Record<string, boolean | number | bigint | string>>;
  readonly priority?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds for the whole call: the wait for the blocks, and the answer. */
  readonly timeoutMs?: number;
}

/** The options with what is left of their time, in whole milliseconds. */
export function remaining(options: InferOptions | undefined, deadline: number | undefined): InferOptions | undefined {
  if (deadline === undefined) return options;
  return { ...options, timeoutMs: Math.max(1, Math.ceil(deadline - performance.now())) };
}

/** Whether a request differs from the slot's prepared one. */
export function isIndividual(options: InferOptions | undefined): options is InferOptions {
  return options?.id !== undefined || options?.parameters !== undefined || options?.priority !== undefined;
}

export function individualRequest(request: ClientRequest, { id, parameters, priority }: InferOptions): ClientRequest {
  return {
    ...request,
    ...(id === undefined ? {} : { id }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(priority === undefined ? {} : { priority }),
  };
}

/** The request of a slot whose tensors lie in `region`, or, without one, in the message. */
export function describeRequest(
  inputs: readonly SlotTensor[],
  outputs: readonly SlotTensor[],
  region: string | undefined,
  version: string | undefined,
): ClientRequest {
  const input = ({ plan, memory }: SlotTensor) => {
    const { datatype, shape, byteOffset, byteLength } = plan;
    if (region !== undefined) return { datatype, shape, region, byteOffset, byteLength };
    return { datatype, shape, data: memory as Uint8Array };
  };
  const output = ({ plan: { byteOffset, byteLength } }: SlotTensor) =>
    region === undefined ? {} : { region, byteOffset, byteLength };
  return {
    inputs: Object.fromEntries(inputs.map((tensor) => [tensor.plan.name, input(tensor)])),
    outputs: Object.fromEntries(outputs.map((tensor) => [tensor.plan.name, output(tensor)])),
    ...(version === undefined ? {} : { version }),
  };
}
