/** What a caller says of one request. */
import { checkedInteger, checkedMs, checkFields, checkOptional, checkSignal, fieldsOf } from './check.js';
import type { ClientSequence } from './client.js';
import { outOfRange, wrongType } from './errors.js';
import type { Shapes } from './layout.js';

export interface InferOptions {
  /**
   * Shapes of this request's inputs, by name: any that fit the model and have at most the bytes that the slot keeps for
   * that input. An input without one has its maximum shape, and all have one batch. The input's first bytes are sent.
   */
  readonly shapes?: Shapes;
  /** The only outputs to ask for, by name. @defaultValue all */
  readonly outputs?: readonly string[];
  /** For models with a sequence batcher. */
  readonly sequence?: ClientSequence;
  /** Echoed in the answer. */
  readonly id?: string;
  readonly parameters?: Readonly<Record<string, boolean | number | bigint | string>>;
  readonly priority?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds for the whole call: the wait for the blocks, and the answer. */
  readonly timeoutMs?: number;
}

const FIELDS = fieldsOf<InferOptions>({
  shapes: true,
  outputs: true,
  sequence: true,
  id: true,
  parameters: true,
  priority: true,
  signal: true,
  timeoutMs: true,
});
const SEQUENCE_FIELDS = fieldsOf<ClientSequence>({ id: true, start: true, end: true });

/**
 * Whatever does not depend on the model.
 * @throws TypeError, RangeError for what no client takes; the values of `parameters` are left to the client
 */
export function checkInferOptions(options: InferOptions | undefined): void {
  if (options === undefined) return;
  checkFields('options', options, FIELDS);
  const { id, parameters, priority, sequence, signal, timeoutMs, shapes, outputs } = options;
  if (id !== undefined && typeof id !== 'string') throw wrongType('id', 'string', id);
  checkOptional('parameters', parameters);
  checkedInteger('priority', priority, 0, 0);
  checkSignal('signal', signal);
  checkedMs('timeoutMs', timeoutMs, 1, 1);
  checkOptional('shapes', shapes);
  checkOutputs(outputs);
  checkSequence(sequence);
}

function checkOutputs(outputs: unknown): void {
  if (outputs === undefined) return;
  if (!Array.isArray(outputs)) throw wrongType('outputs', 'array of output names', outputs);
  // To a server none means all.
  if (outputs.length === 0) throw outOfRange('outputs', 'at least one output name', '[]');
  for (const name of outputs as unknown[])
    if (typeof name !== 'string') throw wrongType('outputs', 'array of output names', name);
  if (new Set(outputs).size < outputs.length) throw outOfRange('outputs', 'each output name once', outputs.join(', '));
}

function checkSequence(sequence: unknown): void {
  checkFields('sequence', sequence, SEQUENCE_FIELDS);
  if (sequence === undefined) return;
  const { id, start, end } = sequence as Partial<Record<keyof ClientSequence, unknown>>;
  if (typeof id !== 'number' && typeof id !== 'bigint' && typeof id !== 'string') {
    throw wrongType('sequence.id', 'integer or string', id);
  }
  // 0 and '' mean "no sequence" to a server.
  if (typeof id === 'number') checkedInteger('sequence.id', id, 1, 1);
  if (id === '' || (typeof id === 'bigint' && (id < 1n || BigInt.asIntN(64, id) !== id))) {
    throw outOfRange('sequence.id', 'whole number from 1 to 2^63 - 1 or non-empty string', id);
  }
  if (start !== undefined && typeof start !== 'boolean') throw wrongType('sequence.start', 'boolean', start);
  if (end !== undefined && typeof end !== 'boolean') throw wrongType('sequence.end', 'boolean', end);
}

/** The options with what is left of their time, in whole milliseconds. */
export function remaining(options: InferOptions | undefined, deadline: number | undefined): InferOptions | undefined {
  if (deadline === undefined) return options;
  return { ...options, timeoutMs: Math.max(1, Math.ceil(deadline - performance.now())) };
}
