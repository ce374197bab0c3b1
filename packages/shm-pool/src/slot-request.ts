/** The tensors of one slot, and the requests that name them: encoded once, and again when their memory moves. */
import { checkName } from './check.js';
import type { InferOptions } from './infer-options.js';
import { type SlotPlan, unknownTensor } from './layout.js';
import { inputShapes } from './request-shapes.js';
import { RequestVariant, type SlotModel } from './request-variant.js';
import { type SlotMemory, SlotTensor } from './slot-memory.js';

/** How many requests with shapes or outputs of their own a slot keeps encoded: those used last. */
const VARIANTS = 8;

export class SlotRequest {
  readonly inputs: readonly SlotTensor[];
  readonly outputs: readonly SlotTensor[];
  readonly #model: SlotModel;
  readonly #variants = new Map<string, RequestVariant>();
  #memory: SlotMemory;
  /** All outputs, inputs of their maximum shapes. */
  #plain: RequestVariant;

  /** Takes memory whose region is registered. Throws what the client throws when it refuses to prepare the request. */
  constructor(model: SlotModel, memory: SlotMemory) {
    this.#model = model;
    this.inputs = memory.plan.inputs.map((plan) => new SlotTensor(plan));
    this.outputs = memory.plan.outputs.map((plan) => new SlotTensor(plan));
    this.#memory = memory;
    this.#plain = this.#take(memory);
  }

  /** @throws PoolError ERR_UNKNOWN_TENSOR; TypeError for a name that is no string */
  input(name: string): SlotTensor {
    return this.#tensor('input', this.inputs, name);
  }

  /** As `input`. */
  output(name: string): SlotTensor {
    return this.#tensor('output', this.outputs, name);
  }

  #tensor(role: string, tensors: readonly SlotTensor[], name: string): SlotTensor {
    checkName(name);
    for (const tensor of tensors) if (tensor.plan.name === name) return tensor;
    const known = tensors.map((tensor) => tensor.plan.name);
    throw unknownTensor(this.#model.model, role, name, known);
  }

  /** Takes other memory whose region is registered, or the same one under another name. When it throws, nothing moved. */
  moveTo(memory: SlotMemory): void {
    this.#plain = this.#take(memory);
    this.#memory = memory;
    this.#variants.clear();
  }

  #take(memory: SlotMemory): RequestVariant {
    const { plan } = memory;
    const plain = new RequestVariant(this.#model, memory, { inputs: plan.inputs, outputs: this.outputs });
    plain.prepare();
    this.#place(memory);
    return plain;
  }

  #place(memory: SlotMemory): void {
    const { plan } = memory;
    place(this.inputs, memory, plan.inputs);
    if (memory.region !== undefined) place(this.outputs, memory, plan.outputs);
  }

  /** Takes other views of the same memory, under the same name. */
  viewAnew(): void {
    // Without a region the requests carry the views.
    if (this.#memory.region === undefined) this.moveTo(this.#memory);
    else this.#place(this.#memory);
  }

  /**
   * The request that the options describe.
   * @throws PoolError ERR_UNKNOWN_TENSOR; TypeError, RangeError for shapes that do not fit
   */
  variant(options: InferOptions | undefined): RequestVariant {
    const shapes = options?.shapes;
    const outputs = options?.outputs;
    if (shapes === undefined && outputs === undefined) return this.#plain;
    const inputs = shapes === undefined ? this.#memory.plan.inputs : inputShapes(this.#memory.plan, shapes);
    const asked = outputs === undefined ? this.outputs : this.#asked(outputs);
    const key = `${inputs.map(({ shape }) => shape.join()).join('/')} ${asked.map(({ plan }) => plan.byteOffset).join()}`;
    const variant =
      this.#variants.get(key) ?? new RequestVariant(this.#model, this.#memory, { inputs, outputs: asked });
    // In the order of their last use.
    this.#variants.delete(key);
    this.#variants.set(key, variant);
    if (this.#variants.size > VARIANTS) this.#variants.delete(this.#variants.keys().next().value ?? '');
    return variant;
  }

  /** In the slot's order, whatever the order of the names. */
  #asked(names: readonly string[]): readonly SlotTensor[] {
    const wanted = new Set(names.map((name) => this.output(name)));
    return this.outputs.filter((tensor) => wanted.has(tensor));
  }
}

/** Both in the order of the model's metadata. */
function place(tensors: readonly SlotTensor[], memory: SlotMemory, plans: SlotPlan['inputs']): void {
  for (const [index, plan] of plans.entries()) tensors[index]?.moveTo(memory, plan);
}
