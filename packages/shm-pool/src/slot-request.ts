/** What a slot asks of the server. */
import { checkedInteger, checkedMs, checkOptional, checkSignal } from './check.js';
import type { ClientCall, ClientCallOptions, ClientRequest, TensorClient } from './client.js';
import { wrongType } from './errors.js';
import { type SlotPlan, unknownTensor } from './layout.js';
import { type SlotMemory, SlotTensor } from './slot-memory.js';

/** The model that a pool's slots are for. */
export interface SlotModel {
  readonly client: TensorClient;
  readonly model: string;
  readonly version: string | undefined;
  readonly plan: SlotPlan;
}

export interface InferOptions {
  /** Echoed in the answer. */
  readonly id?: string;
  readonly parameters?: Readonly<Record<string, boolean | number | bigint | string>>;
  readonly priority?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds for the whole call: the wait for the blocks, and the answer. */
  readonly timeoutMs?: number;
}

/** @throws TypeError, RangeError for what no client takes; the values of `parameters` are left to the client */
export function checkInferOptions(options: InferOptions | undefined): void {
  if (options === undefined) return;
  checkOptional('options', options);
  const { id, parameters, priority, signal, timeoutMs } = options;
  if (id !== undefined && typeof id !== 'string') throw wrongType('id', 'string', id);
  checkOptional('parameters', parameters);
  checkedInteger('priority', priority, 0, 0);
  checkSignal('signal', signal);
  checkedMs('timeoutMs', timeoutMs, 1, 1);
}

/** The options with what is left of their time, in whole milliseconds. */
export function remaining(options: InferOptions | undefined, deadline: number | undefined): InferOptions | undefined {
  if (deadline === undefined) return options;
  return { ...options, timeoutMs: Math.max(1, Math.ceil(deadline - performance.now())) };
}

/** The tensors of one slot, and the request that names them: encoded once, and again when their memory moves. */
export class SlotRequest {
  readonly inputs: readonly SlotTensor[];
  readonly outputs: readonly SlotTensor[];
  readonly #model: SlotModel;
  #request: ClientRequest = { inputs: {} };
  #prepared: { infer(options?: ClientCallOptions): ClientCall } | undefined;

  constructor(model: SlotModel) {
    this.#model = model;
    this.inputs = model.plan.inputs.map((plan) => new SlotTensor(plan));
    this.outputs = model.plan.outputs.map((plan) => new SlotTensor(plan));
  }

  /** @throws PoolError ERR_UNKNOWN_TENSOR */
  input(name: string): SlotTensor {
    return this.#tensor('input', this.inputs, name);
  }

  /** @throws PoolError ERR_UNKNOWN_TENSOR */
  output(name: string): SlotTensor {
    return this.#tensor('output', this.outputs, name);
  }

  #tensor(role: string, tensors: readonly SlotTensor[], name: string): SlotTensor {
    for (const tensor of tensors) if (tensor.plan.name === name) return tensor;
    const known = tensors.map((tensor) => tensor.plan.name);
    throw unknownTensor(this.#model.model, role, name, known);
  }

  /** Takes memory whose region is registered. */
  moveTo(memory: SlotMemory): void {
    const { client, model, version } = this.#model;
    for (const tensor of this.inputs) tensor.moveTo(memory);
    if (memory.region !== undefined) for (const tensor of this.outputs) tensor.moveTo(memory);
    this.#request = describeRequest(this.inputs, this.outputs, memory.region?.name, version);
    // In the message the bytes are part of the request, so that it has to be encoded anew each time.
    this.#prepared = memory.region === undefined ? undefined : client.prepare(model, this.#request);
  }

  send(options: InferOptions | undefined): ClientCall {
    const { client, model } = this.#model;
    if (isIndividual(options)) return client.infer(model, individualRequest(this.#request, options), options);
    return this.#prepared === undefined ? client.infer(model, this.#request, options) : this.#prepared.infer(options);
  }
}

/** Whether a request differs from the slot's prepared one. */
function isIndividual(options: InferOptions | undefined): options is InferOptions {
  return options?.id !== undefined || options?.parameters !== undefined || options?.priority !== undefined;
}

function individualRequest(request: ClientRequest, { id, parameters, priority }: InferOptions): ClientRequest {
  return {
    ...request,
    ...(id === undefined ? {} : { id }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(priority === undefined ? {} : { priority }),
  };
}

/** The request of a slot whose tensors lie in `region`, or, without one, in the message. */
function describeRequest(
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
