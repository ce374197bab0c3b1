/**
 * One answer by messages and one by a transport of shared memory, to the same generated inputs. The only proof where a
 * server accepts memory and then sees something else in it.
 */
import type { DeviceMemory } from '@zerohop/cuda-native';
import type { Datatype } from '@zerohop/cuda-native/tensor';
import { messageBytesOf, noOutput, outputsOf } from './answer.js';
import { type Comparison, compareBytes } from './answer-difference.js';
import { message } from './capacity.js';
import type { ClientCall, ClientResult, TensorClient } from './client.js';
import { messageOf, PoolError } from './errors.js';
import type { SlotPlan } from './layout.js';
import { releaseAfter } from './memory-release.js';
import type { ModelFacts } from './model-facts.js';
import type { RequestVariant } from './request-variant.js';
import { isQueueRefusal, isUnreachable } from './server-texts.js';
import { messageMemory, type SlotMemory, type Transport } from './slot-memory.js';
import { SlotRequest } from './slot-request.js';
import { patternBytes } from './verify-pattern.js';

export type Verification =
  | { readonly state: 'not-asked' }
  /** It was asked for, and tensors travel in messages anyway. */
  | { readonly state: 'nothing-to-compare' }
  | { readonly state: 'verified'; readonly how: string }
  /** It was asked for, and could not be done. */
  | { readonly state: 'not-verified'; readonly why: string };

export interface VerifyOptions {
  readonly client: TensorClient;
  readonly version: string | undefined;
  readonly plan: SlotPlan;
  readonly facts: ModelFacts;
  readonly signal: AbortSignal | undefined;
}

/** What the output blocks hold before the request, so that an answer that never came there shows. */
const UNWRITTEN = 0xa5;

/**
 * Runs the model on the first slot's memory, which must be fresh. When it rejects, that memory was released, or is when
 * its request is proven to be over; else it is as it was, but for its bytes.
 * @throws PoolError ERR_VERIFY_FAILED; the client's error when the server cannot be reached; `signal.reason`
 */
export async function verifyTransport(
  transport: Transport,
  memory: SlotMemory,
  options: VerifyOptions,
): Promise<Verification> {
  const trial = new Trial(transport, memory, options);
  try {
    return await trial.run();
  } catch (error) {
    if (isQueueRefusal(error) && !options.signal?.aborted)
      return { state: 'not-verified', why: `the server is busy (${messageOf(error)})` };
    await releaseAfter(memory, trial.call);
    throw error;
  }
}

/** Why no answer of a model may be asked for, or can be compared; undefined when it may. */
function notToVerify({ facts, plan }: Pick<VerifyOptions, 'facts' | 'plan'>): string | undefined {
  const outputs = plan.byteLength - (plan.outputs[0]?.byteOffset ?? plan.byteLength);
  if (facts.decoupled) return 'the model is decoupled';
  if (facts.scheduling === undefined) return 'the client does not tell whether the model keeps sequences';
  if (facts.scheduling.sequence) return 'the model keeps sequences';
  if (plan.inputs.some(({ datatype }) => datatype === 'BYTES')) return 'the model takes BYTES';
  if (Math.max(plan.inputByteLength, outputs) > message.byteLength) return 'its tensors do not fit a message';
  return undefined;
}

class Trial {
  /** The last request that names the memory. */
  call: ClientCall | undefined;
  readonly #transport: Transport;
  readonly #memory: SlotMemory;
  readonly #options: VerifyOptions;

  constructor(transport: Transport, memory: SlotMemory, options: VerifyOptions) {
    this.#transport = transport;
    this.#memory = memory;
    this.#options = options;
  }

  async run(): Promise<Verification> {
    const why = notToVerify(this.#options);
    if (why !== undefined) return { state: 'not-verified', why };
    let expected: ClientResult;
    try {
      expected = await this.#byMessage();
    } catch (error) {
      this.#rethrow(error);
      return { state: 'not-verified', why: `the model does not answer generated inputs (${messageOf(error)})` };
    }
    const large = this.#options.plan.outputs.find(({ name, byteLength }) => {
      const needed = find(expected, name)?.bytes.byteLength ?? 0;
      return needed > byteLength;
    });
    if (large !== undefined) return { state: 'not-verified', why: `output '${large.name}' needs more than its block` };
    const found = await this.#compare(expected);
    if (found.same) return { state: 'verified', how: found.how };
    // A model that draws lots differs from itself as well.
    const again = await this.#byMessage();
    if (!sameAnswers(expected, again).same) {
      return { state: 'not-verified', why: "the model's answers to one input differ by themselves" };
    }
    throw new PoolError(
      'ERR_VERIFY_FAILED',
      `An answer of model '${this.#options.facts.model}' by ${this.#transport} differs from the one by message (${found.how}): the server does not see this memory as it is here, as under WSL2. Use transport 'bytes'`,
    );
  }

  /** Errors that say nothing about the model or the transport. */
  #rethrow(error: unknown): void {
    const { signal } = this.#options;
    if (signal?.aborted || isUnreachable(error) || error instanceof TypeError) throw error;
  }

  #request(memory: SlotMemory): RequestVariant {
    const { client, facts, version } = this.#options;
    return new SlotRequest({ client, model: facts.model, version, strictViews: false }, memory).variant(undefined);
  }

  async #byMessage(): Promise<ClientResult> {
    const { plan, signal } = this.#options;
    const memory = messageMemory(plan);
    await fillInputs(memory, plan);
    const result = await this.#request(memory).send(signal && { signal });
    outputsOf(result).forEach(messageBytesOf);
    for (const { name } of plan.outputs) if (find(result, name) === undefined) throw noOutput(name);
    return result;
  }

  /** Sends the same by the slot's memory, and compares what comes back there. */
  async #compare(expected: ClientResult): Promise<Comparison> {
    const { plan, signal } = this.#options;
    const memory = this.#memory;
    await fillInputs(memory, plan);
    await fillOutputs(memory, plan);
    this.call = this.#request(memory).send(signal && { signal });
    let result: ClientResult;
    try {
      result = await this.call;
      outputsOf(result);
    } catch (error) {
      this.#rethrow(error);
      if (isQueueRefusal(error)) throw error;
      throw new PoolError(
        'ERR_VERIFY_FAILED',
        `Model '${this.#options.facts.model}' answered by message, but not by ${this.#transport} (${messageOf(error)})`,
        { cause: error },
      );
    }
    let how: Extract<Comparison, { same: true }>['how'] = 'equal bytes';
    for (const { name, datatype, byteOffset, byteLength } of plan.outputs) {
      const wanted = find(expected, name);
      const got = find(result, name);
      if (`${got?.shape}` !== `${wanted?.shape}` || wanted === undefined) {
        return differs(name, `shape [${got?.shape}] instead of [${wanted?.shape}]`);
      }
      const size = wanted.bytes.byteLength;
      if (size > byteLength) return differs(name, `${size} bytes in a block of ${byteLength}`);
      if (size === 0) continue;
      const compared = compareBytes(datatype, wanted.bytes, await read(memory, byteOffset, size));
      if (!compared.same) return differs(name, compared.how);
      if (compared.how !== 'equal bytes') how = compared.how;
    }
    return { same: true, how };
  }
}

const differs = (name: string, how: string): Comparison => ({ same: false, how: `output '${name}': ${how}` });

const find = (result: ClientResult, name: string) => result.outputs.find((output) => output.name === name);

function sameAnswers(one: ClientResult, other: ClientResult): Comparison {
  for (const { name, datatype, bytes } of one.outputs) {
    const compared = compareBytes(datatype, bytes, find(other, name)?.bytes ?? new Uint8Array(0));
    if (!compared.same) return compared;
  }
  return { same: true, how: 'equal bytes' };
}

async function fillInputs(memory: SlotMemory, plan: SlotPlan): Promise<void> {
  for (const [seed, { datatype, byteOffset, byteLength }] of plan.inputs.entries()) {
    const bytes = patternBytes(datatype as Exclude<Datatype, 'BYTES'>, byteLength, seed);
    const target = memory.view(byteOffset, byteLength);
    if (target instanceof Uint8Array) target.set(bytes);
    else await streamOf(memory).copyToDevice(target, bytes);
  }
}

async function fillOutputs(memory: SlotMemory, plan: SlotPlan): Promise<void> {
  const blocks: DeviceMemory[] = [];
  for (const { byteOffset, byteLength } of plan.outputs) {
    const target = memory.view(byteOffset, byteLength);
    if (target instanceof Uint8Array) target.fill(UNWRITTEN);
    else blocks.push(target);
  }
  if (blocks.length === 0) return;
  for (const block of blocks) streamOf(memory).fill(block, UNWRITTEN);
  await streamOf(memory).done();
}

async function read(memory: SlotMemory, byteOffset: number, byteLength: number): Promise<Uint8Array> {
  const source = memory.view(byteOffset, byteLength);
  if (source instanceof Uint8Array) return source;
  const bytes = new Uint8Array(byteLength);
  await streamOf(memory).copyToHost(bytes, source);
  return bytes;
}

function streamOf({ stream }: SlotMemory): NonNullable<SlotMemory['stream']> {
  if (stream === undefined) throw new Error('Device memory without a stream');
  return stream;
}
