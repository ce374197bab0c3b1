/** One request that a slot can send: which shapes its inputs have, and which outputs it asks for. */
import type { ClientCall, ClientCallOptions, ClientRequest, TensorClient } from './client.js';
import type { InferOptions } from './infer-options.js';
import type { SlotPlan, TensorPlan } from './layout.js';
import type { InputShape } from './request-shapes.js';
import type { SlotMemory, SlotTensor } from './slot-memory.js';

/** The model that a pool's slots are for. */
export interface SlotModel {
  readonly client: TensorClient;
  readonly model: string;
  readonly version: string | undefined;
  /** Whether views of the slot's memory end with their lease. */
  readonly strictViews: boolean;
}

export class RequestVariant {
  /** What it asks for. */
  readonly outputs: readonly SlotTensor[];
  readonly #model: SlotModel;
  readonly #request: ClientRequest;
  readonly #inRegion: boolean;
  #prepared: { infer(options?: ClientCallOptions): ClientCall } | undefined;

  constructor(
    model: SlotModel,
    memory: SlotMemory,
    { inputs, outputs }: { readonly inputs: readonly InputShape[]; readonly outputs: readonly SlotTensor[] },
  ) {
    this.#model = model;
    this.outputs = outputs;
    this.#inRegion = memory.region !== undefined;
    const names = new Set(outputs.map((tensor) => tensor.plan.name));
    this.#request = describeRequest(model, memory, inputs, names);
  }

  /**
   * Encodes the request, once. Without a region it does nothing: the bytes are part of the request then, which has to be
   * encoded anew each time.
   */
  prepare(): void {
    if (!this.#inRegion) return;
    this.#prepared ??= this.#model.client.prepare(this.#model.model, this.#request);
  }

  send(options: InferOptions | undefined): ClientCall {
    const { client, model, strictViews } = this.#model;
    // The views may end before the client has sent them.
    const request = strictViews && !this.#inRegion ? withOwnBytes(this.#request) : this.#request;
    if (isIndividual(options)) return client.infer(model, individualRequest(request, options), options);
    this.prepare();
    return this.#prepared === undefined ? client.infer(model, request, options) : this.#prepared.infer(options);
  }
}

/** The request with copies of the bytes that it carries. */
function withOwnBytes(request: ClientRequest): ClientRequest {
  const inputs = Object.entries(request.inputs).map(([name, input]) => [
    name,
    'data' in input ? { ...input, data: input.data.slice() } : input,
  ]);
  return { ...request, inputs: Object.fromEntries(inputs) as ClientRequest['inputs'] };
}

/** Whether a request has something that the encoded one has not. */
function isIndividual(options: InferOptions | undefined): options is InferOptions {
  return (
    options !== undefined &&
    (options.id !== undefined ||
      options.parameters !== undefined ||
      options.priority !== undefined ||
      options.sequence !== undefined)
  );
}

function individualRequest(
  request: ClientRequest,
  { id, parameters, priority, sequence }: InferOptions,
): ClientRequest {
  return {
    ...request,
    ...(id === undefined ? {} : { id }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(priority === undefined ? {} : { priority }),
    ...(sequence === undefined ? {} : { sequence }),
  };
}

/** The request of tensors that lie in the memory's region, or, without one, in the message. */
function describeRequest(
  { version }: SlotModel,
  memory: SlotMemory,
  shapes: readonly InputShape[],
  names: ReadonlySet<string>,
): ClientRequest {
  const region = memory.region?.name;
  const { inputs, outputs }: SlotPlan = memory.plan;
  const input = ({ datatype, byteOffset }: TensorPlan, { shape, byteLength }: InputShape) => {
    if (region !== undefined) return { datatype, shape, region, byteOffset, byteLength };
    return { datatype, shape, data: memory.view(byteOffset, byteLength) as Uint8Array };
  };
  const output = ({ byteOffset, byteLength }: TensorPlan) =>
    region === undefined ? {} : { region, byteOffset, byteLength };
  return {
    inputs: Object.fromEntries(inputs.map((plan, index) => [plan.name, input(plan, shapes[index] ?? plan)])),
    outputs: Object.fromEntries(outputs.filter(({ name }) => names.has(name)).map((plan) => [plan.name, output(plan)])),
    ...(version === undefined ? {} : { version }),
  };
}
