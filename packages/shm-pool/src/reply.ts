/** The answer to a lease's request. */
import type { Datatype, TensorBlock } from '@zerohop/cuda-native/tensor';
import { type BlockOwner, LeaseBlock } from './block.js';
import type { ClientOutput, ClientResult } from './client.js';
import { elementByteLength, elementCount } from './datatypes.js';
import { PoolError } from './errors.js';
import { unknownTensor } from './layout.js';
import type { SlotTensor } from './slot-memory.js';

/** Borrowed from the lease: its blocks are valid until the lease ends or its next request. */
export class Reply {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly #owner: BlockOwner;
  readonly #outputs: readonly ClientOutput[];
  readonly #tensors: readonly SlotTensor[];

  /** @throws PoolError ERR_ANSWER_MISMATCH, ERR_OUTPUT_TOO_LARGE when the answer is not what the slot was planned for */
  constructor(
    owner: BlockOwner,
    result: ClientResult,
    tensors: readonly SlotTensor[],
    { checked }: { readonly checked: boolean },
  ) {
    this.model = result.model;
    this.version = result.version;
    this.id = result.id;
    this.#owner = owner;
    this.#tensors = tensors;
    const { outputs } = result;
    this.#outputs = outputs;
    if (checked) return;
    // Triton answers in the request's order; the search is for servers that do not.
    for (let index = 0; index < tensors.length; index += 1) {
      const tensor = tensors[index] as SlotTensor;
      const output = outputs[index];
      checkOutput(tensor, output?.name === tensor.plan.name ? output : find(outputs, tensor.plan.name));
    }
  }

  /**
   * An output where the server put it: the lease's own block, or with transport `'bytes'` a view of the message. Its
   * shape is the answer's.
   * @throws PoolError ERR_UNKNOWN_TENSOR, ERR_LEASE_RELEASED
   */
  output<D extends Datatype = Datatype>(name: string): TensorBlock<D> {
    this.#owner.assertUsable();
    const tensor = this.#tensors.find((each) => each.plan.name === name);
    const output = find(this.#outputs, name);
    if (tensor === undefined || output === undefined) {
      throw unknownTensor(
        this.model,
        'output',
        name,
        this.#tensors.map((each) => each.plan.name),
      );
    }
    const { plan } = tensor;
    const inMessage = tensor.memory === undefined;
    return new LeaseBlock(this.#owner, inMessage ? { memory: output.bytes, shm: undefined } : tensor, {
      name,
      datatype: plan.datatype as D,
      shape: output.shape,
      byteLength: inMessage ? output.bytes.byteLength : (byteLengthOf(output) ?? plan.byteLength),
    });
  }
}

function find(outputs: readonly ClientOutput[], name: string): ClientOutput | undefined {
  return outputs.find((output) => output.name === name);
}

/** Bytes of an output by its own shape and datatype; undefined for BYTES. */
function byteLengthOf({ datatype, shape }: ClientOutput): number | undefined {
  const elementBytes = elementByteLength(datatype);
  return elementBytes === undefined ? undefined : elementCount(shape) * elementBytes;
}

function checkOutput({ plan, memory }: SlotTensor, output: ClientOutput | undefined): void {
  if (output === undefined) {
    throw new PoolError('ERR_ANSWER_MISMATCH', `The answer has no output '${plan.name}'`);
  }
  const label = `Output '${plan.name}' came as ${output.datatype} [${output.shape.join(', ')}]`;
  if (output.datatype !== plan.datatype || output.shape.length !== plan.shape.length) {
    throw new PoolError('ERR_ANSWER_MISMATCH', `${label}, planned was ${plan.datatype} [${plan.shape.join(', ')}]`);
  }
  const byteLength = byteLengthOf(output);
  // Each dimension: two negative ones make a product like any other.
  const isShape = output.shape.every((dimension) => Number.isSafeInteger(dimension) && dimension >= 0);
  if (!isShape || Number.isNaN(byteLength)) {
    throw new PoolError('ERR_ANSWER_MISMATCH', `${label}, which is no size`);
  }
  if (byteLength === undefined) return;
  if (byteLength > plan.byteLength) {
    throw outputTooLarge(plan.name, byteLength, plan.byteLength);
  }
  if (memory === undefined && output.bytes.byteLength !== byteLength) {
    throw new PoolError('ERR_ANSWER_MISMATCH', `${label} with ${output.bytes.byteLength} bytes`);
  }
}

/** The model produced more than its block holds; the model did run. */
export function outputTooLarge(name: string, needed: number, planned: number | undefined, cause?: unknown): PoolError {
  const room = planned === undefined ? '' : ` and its block holds ${planned}`;
  return new PoolError(
    'ERR_OUTPUT_TOO_LARGE',
    `Output '${name}' needs ${needed} bytes${room}: open the pool with outputs: { '${name}': { byteLength: ${needed} } }`,
    cause === undefined ? undefined : { cause },
  );
}
