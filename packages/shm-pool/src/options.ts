/** The options of a pool, and the plan that follows from them and the model. */
import type { Device } from '@zerohop/cuda-native';
import { checkBoolean, checkedInteger, checkFields, checkOptional, checkSignal, fieldsOf } from './check.js';
import type { ClientModelConfig, ClientTensorMetadata, TensorClient } from './client.js';
import { readEnvironment } from './environment.js';
import { outOfRange, PoolError, wrongType } from './errors.js';
import { checkGpuOptions } from './gpu-choice.js';
import { MAX_OUTPUT_BYTES, type OutputHints, planSlot, type Shapes } from './layout.js';
import { PoolPlan } from './pool-plan.js';
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
  /** The GPU that holds or reaches the slots, or its ordinal here. @defaultValue the server's only GPU, else ordinal 0 */
  readonly device?: Device | number;
  /** The server's ordinal of that GPU, where it can't be settled otherwise. */
  readonly serverDeviceId?: number;
  /**
   * Page-locks `system` slots for `device`, so that kernels reach them as `block.deviceMemory`; they get a stream as
   * `cuda` slots have it. With `'auto'`, a machine without a GPU goes without. Not with `'bytes'`: kernels don't reach
   * messages.
   * @defaultValue false
   */
  readonly deviceAccess?: boolean;
  /**
   * Compares one answer by messages with one by the chosen transport before the pool is open, with generated inputs: the
   * model runs twice. Floats may differ by 0.1 % (16-bit ones by 1 %) of the output's largest magnitude. Never for
   * models that keep sequences; `pool.reason` says what came of it.
   * @defaultValue true under WSL2, else false
   */
  readonly verify?: boolean;
  /**
   * Maximum shapes, by tensor name, of tensors with open dimensions; the batch is 1 unless the shape of an input gives
   * another, which then holds for all tensors without a shape of their own.
   */
  readonly shapes?: Shapes;
  /** Bytes to keep at first for outputs whose size the model does not tell. @defaultValue 64 KiB each */
  readonly outputs?: OutputHints;
  /**
   * How large one output may become, in bytes, whose size neither the model nor `shapes` tell: it is given more memory
   * when the server says that it needs more, which costs a second run of the model. A larger hint in `outputs` counts
   * instead. @defaultValue 268435456 (256 MiB)
   */
  readonly maxOutputBytes?: number;
  /** How many callers may wait for a slot. @defaultValue 1024 */
  readonly queueLimit?: number;
  /**
   * How many regions whose memory had to be given up (and stays allocated until the process ends) are replaced by fresh
   * ones; beyond that each one makes the pool a slot smaller. @defaultValue `slots`
   */
  readonly maxRetired?: number;
  /**
   * Ends every view with its lease: a `Uint8Array` taken from a block has length 0 afterwards, a device slice throws
   * ERR_DISPOSED; while work holds the block, at the end of that work. For tests, and where the code that gets the blocks
   * is not trusted to let go of them: about 10 us for each lease of transport `'system'`, and with `'bytes'` a copy of the
   * inputs. @defaultValue false: views are borrowed
   */
  readonly strictViews?: boolean;
  /**
   * Whether to remove what crashed processes left of this package's, as `reap()` does, before anything is allocated.
   * @defaultValue true
   */
  readonly reap?: boolean;
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
  readonly deviceAccess: boolean;
  readonly verify: boolean;
  readonly reap: boolean;
  readonly shapes: Shapes | undefined;
  readonly outputs: OutputHints | undefined;
  readonly maxOutputBytes: number;
  readonly queueLimit: number;
  readonly maxRetired: number;
  readonly strictViews: boolean;
  readonly name: string;
  readonly signal: AbortSignal | undefined;
}

const FIELDS = fieldsOf<PoolOptions>({
  model: true,
  version: true,
  slots: true,
  transport: true,
  device: true,
  serverDeviceId: true,
  deviceAccess: true,
  verify: true,
  shapes: true,
  outputs: true,
  maxOutputBytes: true,
  queueLimit: true,
  maxRetired: true,
  strictViews: true,
  reap: true,
  name: true,
  signal: true,
});

const TRANSPORTS: readonly unknown[] = ['auto', 'cuda', 'system', 'bytes'];

/** @throws TypeError, RangeError */
export function checkOptions(options: PoolOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null) throw wrongType('options', 'object', options);
  checkFields('options', options, FIELDS);
  const { model, version, transport = 'auto', name = model } = options;
  if (typeof model !== 'string' || model === '') throw wrongType('model', 'non-empty string', model);
  if (version !== undefined && typeof version !== 'string') throw wrongType('version', 'string', version);
  if (!TRANSPORTS.includes(transport)) throw outOfRange('transport', "'auto', 'cuda', 'system' or 'bytes'", transport);
  if (options.slots === undefined) throw wrongType('slots', 'positive integer', options.slots);
  if (typeof name !== 'string') throw wrongType('name', 'string', name);
  checkOptional('shapes', options.shapes);
  checkOptional('outputs', options.outputs);
  checkGpuOptions(options);
  checkSignal('signal', options.signal);
  const slots = checkedInteger('slots', options.slots, 1, 1);
  const { deviceAccess = false, reap = true, strictViews = false } = options;
  checkBoolean('verify', options.verify);
  checkBoolean('strictViews', strictViews);
  checkBoolean('deviceAccess', deviceAccess);
  checkBoolean('reap', reap);
  if (deviceAccess && transport === 'bytes') {
    throw outOfRange('transport', "'auto', 'cuda' or 'system' with deviceAccess", transport);
  }
  return {
    model,
    version,
    slots,
    transport,
    device: options.device,
    serverDeviceId: options.serverDeviceId,
    deviceAccess,
    verify: options.verify ?? readEnvironment().wsl2,
    reap,
    shapes: options.shapes,
    outputs: options.outputs,
    maxOutputBytes: checkedInteger('maxOutputBytes', options.maxOutputBytes, 1, MAX_OUTPUT_BYTES),
    queueLimit: checkedInteger('queueLimit', options.queueLimit, 0, 1024),
    maxRetired: checkedInteger('maxRetired', options.maxRetired, 0, slots),
    strictViews,
    name,
    signal: options.signal,
  };
}

/**
 * Asks the server for the model's tensors and configuration, and plans a slot for them.
 * @throws PoolError ERR_DECOUPLED_OUTPUTS, ERR_TENSOR_SIZE, ERR_UNKNOWN_TENSOR; the client's errors
 */
export async function planFor(
  client: TensorClient,
  options: CheckedOptions,
): Promise<{ readonly plan: PoolPlan; readonly config: ClientModelConfig }> {
  const { name, model, version, shapes, outputs, maxOutputBytes } = options;
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
  const plan = planSlot({
    model,
    inputs: metadata.inputs.filter((input) => !isLeftOut(input, config.optionalInputs)),
    outputs: metadata.outputs,
    maxBatchSize: config.maxBatchSize,
    shapes,
    outputHints: outputs,
    maxOutputBytes,
  });
  return { plan: new PoolPlan({ pool: name, plan, hasState: config.raw?.sequence_batching !== undefined }), config };
}

/** An input of BYTES has no place in a slot; one that requests need not have is no reason to refuse the model. */
const isLeftOut = ({ name, datatype }: ClientTensorMetadata, optional: readonly string[] = []) =>
  datatype === 'BYTES' && optional.includes(name);
