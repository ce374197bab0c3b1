/** The options of a pool, and the plan that follows from them and the model. */
import type { Device } from '@zerohop/cuda-native';
import { checkedInteger, checkSignal } from './check.js';
import type { TensorClient } from './client.js';
import { outOfRange, PoolError, wrongType } from './errors.js';
import { type OutputHints, planSlot, type Shapes, type SlotPlan } from './layout.js';
import type { Transport } from './slot-memory.js';

export interface PoolOptions {
  readonly model: string;
  /** @defaultValue the server's choice */
  readonly version?: string;
  /** How many leases there can be at a time. */
  readonly slots: number;
  /**
   * `'auto'` takes the first of cuda, system and bytes that is proven to work; a transport asked for by name fails
   * instead of moving on.
   * @defaultValue 'auto'
   */
  readonly transport?: Transport | 'auto';
  /** The GPU that holds the slots, or its ordinal here. @defaultValue the server's only GPU, else ordinal 0 */
  readonly device?: Device | number;
  /** The server's ordinal of that GPU, where it can't be settled otherwise. */
  readonly serverDeviceId?: number;
  /** Maximum shapes, by tensor name, of tensors with open dimensions; the batch is 1 unless given. */
  readonly shapes?: Shapes;
  /** Bytes to keep for outputs whose size the model does not tell. */
  readonly outputs?: OutputHints;
  /** How many callers may wait for a slot. @defaultValue 1024 */
  readonly queueLimit?: number;
  /** For messages and diagnostics. @defaultValue the model's name */
  readonly name?: string;
  /** Ends the opening; without effect once the pool is open. */
  readonly signal?: AbortSignal;
}

export interface CheckedOptions {
  readonly model: string;
  readonly version: string | undefined;
  readonly slots: number;
  readonly transport: Transport | 'auto';
  readonly device: Device | number | undefined;
  readonly serverDeviceId: number | undefined;
  readonly shapes: Shapes | undefined;
  readonly outputs: OutputHints | undefined;
  readonly queueLimit: number;
  readonly name: string;
  readonly signal: AbortSignal | undefined;
}

const TRANSPORTS: readonly unknown[] = ['auto', 'cuda', 'system', 'bytes'];

/** @throws TypeError, RangeError */
export function checkOptions(options: PoolOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null) throw wrongType('options', 'object', options);
  const { model, version, transport = 'auto', name = model } = options;
  if (typeof model !== 'string' || model === '') throw wrongType('model', 'non-empty string', model);
  if (version !== undefined && typeof version !== 'string') throw wrongType('version', 'string', version);
  if (!TRANSPORTS.includes(transport)) throw outOfRange('transport', "'auto', 'cuda', 'system' or 'bytes'", transport);
  if (options.slots === undefined) throw wrongType('slots', 'positive integer', options.slots);
  if (typeof name !== 'string') throw wrongType('name', 'string', name);
  checkSignal('signal', options.signal);
  return {
    model,
    version,
    slots: checkedInteger('slots', options.slots, 1, 1),
    transport,
    device: options.device,
    serverDeviceId: options.serverDeviceId,
    shapes: options.shapes,
    outputs: options.outputs,
    queueLimit: checkedInteger('queueLimit', options.queueLimit, 0, 1024),
    name,
    signal: options.signal,
  };
}

/**
 * Asks the server for the model's tensors and plans a slot for them.
 * @throws PoolError ERR_DECOUPLED_OUTPUTS, ERR_TENSOR_SIZE, ERR_UNKNOWN_TENSOR; the client's errors
 */
export async function planFor(client: TensorClient, options: CheckedOptions): Promise<SlotPlan> {
  const { model, version, shapes, outputs } = options;
  const [metadata, config] = await Promise.all([
    client.modelMetadata(model, version),
    client.modelConfig(model, version),
  ]);
  if (config.decoupled) {
    throw new PoolError(
      'ERR_DECOUPLED_OUTPUTS',
      `Model '${model}' is decoupled: it may answer a request several times, and all answers would write one block. Use the client's own requests`,
    );
  }
  return planSlot({
    model,
    inputs: metadata.inputs,
    outputs: metadata.outputs,
    maxBatchSize: config.maxBatchSize,
    shapes,
    outputHints: outputs,
  });
}
