/** The answer to a lease's request. */
import type { Datatype, TensorBlock } from '@zerohop/cuda-native/tensor';
import { messageBytesOf, noOutput, outputsOf } from './answer.js';
import { type BlockOwner, LeaseBlock } from './block.js';
import { checkName } from './check.js';
import type { ClientOutput, ClientResult } from './client.js';
import { elementByteLength, elementCount } from './datatypes.js';
import { PoolError } from './errors.js';
import { unknownTensor } from './layout.js';
import { outputTooLarge } from './pool-plan.js';
import type { SlotTensor } from './slot-memory.js';

/** Borrowed from the lease: its blocks are valid until the lease ends or its next request. */
export class Reply {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  /**
   * How often the model ran for this answer: 1, and one more for each time that an output of unknown size turned out
   * larger than its block.
   */
  readonly runs: number;
  readonly #owner: BlockOwner;
  readonly #outputs: readonly ClientOutput[];
  readonly #asked: readonly SlotTensor[];
  readonly #all: readonly SlotTensor[];

  /**
   * @internal Made by the lease. `asked`: the outputs that were asked for, of `all`.
   * @throws PoolError ERR_ANSWER_MISMATCH, ERR_OUTPUT_TOO_LARGE when the answer is not what the slot was planned for
   */
  constructor(
    owner: BlockOwner,
    result: ClientResult,
    asked: readonly SlotTensor[],
    { all, runs, checked }: { readonly all: readonly SlotTensor[]; readonly runs: number; readonly checked: boolean },
  ) {
    const outputs = checked ? result.outputs : outputsOf(result);
    this.model = result.model;
    this.version = result.version;
    this.id = result.id;
    this.#owner = owner;
    this.runs = runs;
    this.#asked = asked;
    this.#all = all;
    this.#outputs = outputs;
    if (checked) return;
    // Triton answers in the request's order; the search is for servers that do not.
    for (let index = 0; index < asked.length; index += 1) {
      const tensor = asked[index] as SlotTensor;
      const output = outputs[index];
      checkOutput(tensor, output?.name === tensor.plan.name ? output : find(outputs, tensor.plan.name));
    }
  }

  /**
   * An output where the server put it: the lease's own block, or with transport `'bytes'` a view of the message. Its
   * shape is the answer's.
   * @throws PoolError ERR_UNKNOWN_TENSOR, also for an output that was not asked for; ERR_LEASE_RELEASED,
   * ERR_LEASE_DETACHED; TypeError for a name that is no string
   */
  output<D extends Datatype = Datatype>(name: string): TensorBlock<D> {
    this.#owner.assertUsable();
    checkName(name);
    const tensor = this.#asked.find((each) => each.plan.name === name);
    const output = find(this.#outputs, name);
    if (tensor === undefined || output === undefined) throw this.#notHere(name);
    const { plan } = tensor;
    const inMessage = tensor.memory === undefined;
    return new LeaseBlock(this.#owner, inMessage ? { memory: output.bytes, shm: undefined } : tensor, {
      name,
      datatype: plan.datatype as D,
      shape: output.shape,
      byteLength: inMessage ? output.bytes.byteLength : (byteLengthOf(output) ?? plan.byteLength),
    });
  }

  #notHere(name: string): PoolError {
    const [asked, all] = [namesOf(this.#asked), namesOf(this.#all)];
    if (!all.includes(name)) return unknownTensor(this.model, 'output', name, all);
    return new PoolError(
      'ERR_UNKNOWN_TENSOR',
      `Output '${name}' was not asked for: the request was for ${asked.map((each) => `'${each}'`).join(', ')}`,
    );
  }
}

const namesOf = (tensors: readonly SlotTensor[]) => tensors.map(({ plan }) => plan.name);

function find(outputs: readonly ClientOutput[], name: string): ClientOutput | undefined {
  return outputs.find((output) => output.name === name);
}

/** Bytes of an output by its own shape and datatype; undefined for BYTES. */
function byteLengthOf({ datatype, shape }: ClientOutput): number | undefined {
  const elementBytes = elementByteLength(datatype);
  return elementBytes === undefined ? undefined : elementCount(shape) * elementBytes;
}

function checkOutput({ plan, memory }: SlotTensor, output: ClientOutput | undefined): void {
  if (output === undefined) throw noOutput(plan.name);
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
  // In the message there is no block to fit: only what is allowed counts.
  const capacity = memory === undefined ? plan.maxByteLength : plan.byteLength;
  const came = byteLength ?? messageBytesOf(output).byteLength;
  if (came > capacity) throw outputTooLarge(plan.name, came, plan);
  if (byteLength !== undefined && memory === undefined && messageBytesOf(output).byteLength !== byteLength) {
    throw new PoolError('ERR_ANSWER_MISMATCH', `${label} with ${output.bytes.byteLength} bytes`);
  }
}
