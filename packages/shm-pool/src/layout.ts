/** Plans one slot: which tensors it holds, their maximum shapes, and where they lie in the slot's region. Pure. */
import type { Datatype } from '@zerohop/cuda-native/tensor';
import { checkFields } from './check.js';
import type { ClientTensorMetadata } from './client.js';
import { elementByteLength, elementCount, isDatatype } from './datatypes.js';
import { outOfRange, PoolError, wrongType } from './errors.js';

/** Blocks start at multiples of this: what CUDA guarantees for an allocation, and more than any CPU vector needs. */
export const BLOCK_ALIGNMENT = 256;

/** What an output gets at first whose size nothing tells, in bytes. */
export const FIRST_OUTPUT_BYTES = 64 * 1024;

/** How large an output of unknown size may become unless the pool's options say otherwise, in bytes. */
export const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

export interface TensorPlan<D extends Datatype = Datatype> {
  readonly name: string;
  readonly datatype: D;
  /** The model's own shape: -1 where it leaves a dimension open. */
  readonly declared: readonly number[];
  /** Maximum shape, in elements; every dimension is positive. */
  readonly shape: readonly number[];
  /** Capacity in bytes. */
  readonly byteLength: number;
  /** What the capacity may grow to, in bytes: more than `byteLength` only for an output of unknown size. */
  readonly maxByteLength: number;
  /** For an output whose capacity decides its open dimensions: the shape with these as -1. */
  readonly openShape?: readonly number[] | undefined;
  /** From the start of the slot's region, in bytes. */
  readonly byteOffset: number;
}

export interface SlotPlan {
  readonly model: string;
  /** 0: the model's tensors have no batch dimension. */
  readonly maxBatchSize: number;
  readonly inputs: readonly TensorPlan[];
  readonly outputs: readonly TensorPlan[];
  /** Bytes of the inputs' part, and of the whole region. */
  readonly inputByteLength: number;
  readonly byteLength: number;
}

/** Shapes by tensor name, for dimensions that the model leaves open. */
export type Shapes = Readonly<Record<string, readonly number[]>>;

/** What the model's metadata cannot say about an output. */
export type OutputHints = Readonly<Record<string, { readonly byteLength: number }>>;

const HINT_FIELDS = new Set(['byteLength']);

export interface PlanInput {
  readonly model: string;
  readonly inputs: readonly ClientTensorMetadata[];
  readonly outputs: readonly ClientTensorMetadata[];
  readonly maxBatchSize: number;
  readonly shapes?: Shapes | undefined;
  readonly outputHints?: OutputHints | undefined;
  readonly maxOutputBytes?: number | undefined;
}

/** A tensor before it has its place. */
type Unplaced = Omit<TensorPlan, 'byteOffset'>;

/**
 * Inputs first, then outputs, each at a 256-byte-aligned offset. A dimension of -1 is taken from `shapes`; the batch
 * dimension of a model with `maxBatchSize > 0` is 1 unless the `shapes` of an input say otherwise, and the other tensors
 * take that one. An output whose size nothing tells gets a first capacity that can grow.
 * @throws PoolError ERR_TENSOR_SIZE, ERR_UNKNOWN_TENSOR; TypeError or RangeError for shapes that do not fit the model
 */
export function planSlot(input: PlanInput): SlotPlan {
  checkNames(input);
  const batch = batchOf(input);
  const { model, maxBatchSize } = input;
  return placed({
    model,
    maxBatchSize,
    inputs: input.inputs.map((tensor) => planTensor(tensor, 'input', batch, input)),
    outputs: input.outputs.map((tensor) => planTensor(tensor, 'output', batch, input)),
  });
}

/** The plan with outputs of other capacities, in bytes by name. Its inputs lie where they did. */
export function withCapacities(plan: SlotPlan, capacities: ReadonlyMap<string, number>): SlotPlan {
  const outputs = plan.outputs.map((tensor): Unplaced => {
    const byteLength = capacities.get(tensor.name);
    if (byteLength === undefined) return tensor;
    const { openShape, datatype } = tensor;
    const shape = openShape === undefined ? tensor.shape : shapeWithin(openShape, byteLength, datatype);
    return { ...tensor, shape, byteLength };
  });
  return placed({ ...plan, outputs });
}

function placed(plan: {
  readonly model: string;
  readonly maxBatchSize: number;
  readonly inputs: readonly Unplaced[];
  readonly outputs: readonly Unplaced[];
}): SlotPlan {
  let end = 0;
  const place = (tensor: Unplaced): TensorPlan => {
    const byteOffset = Math.ceil(end / BLOCK_ALIGNMENT) * BLOCK_ALIGNMENT;
    end = byteOffset + tensor.byteLength;
    return { ...tensor, byteOffset };
  };
  const { model, maxBatchSize } = plan;
  const inputs = plan.inputs.map(place);
  const inputByteLength = end;
  const outputs = plan.outputs.map(place);
  if (!Number.isSafeInteger(end)) throw sizeError('The slot', 'does not fit 2^53 bytes');
  return { model, maxBatchSize, inputs, outputs, inputByteLength, byteLength: end };
}

function checkNames({ model, inputs, outputs, maxBatchSize, shapes = {}, outputHints = {} }: PlanInput): void {
  const tensors = [...inputs, ...outputs];
  for (const [name, shape] of Object.entries(shapes)) {
    const tensor = tensors.find((each) => each.name === name);
    if (tensor === undefined) throw unknownTensor(model, 'tensor', name, [...new Set(tensors.map(nameOf))]);
    checkShape(`shapes.${name}`, shape, tensor.shape, maxBatchSize);
  }
  const known = outputs.map(nameOf);
  for (const [name, hint] of Object.entries(outputHints)) {
    if (!known.includes(name)) throw unknownTensor(model, 'output', name, known);
    if (typeof hint === 'object') checkFields(`outputs.${name}`, hint, HINT_FIELDS);
    const { byteLength } = Object(hint) as { byteLength?: unknown };
    if (!Number.isSafeInteger(byteLength) || Number(byteLength) <= 0) {
      throw outOfRange(`outputs.${name}.byteLength`, 'positive integer', byteLength);
    }
  }
}

/** The batch that the shapes of inputs give, which has to be one: a request has one for all its inputs. */
function batchOf({ inputs, maxBatchSize, shapes = {} }: PlanInput): number {
  if (maxBatchSize === 0) return 1;
  let first: { name: string; batch: number } | undefined;
  for (const { name } of inputs) {
    const batch = own(shapes, name)?.[0];
    if (batch === undefined) continue;
    first ??= { name, batch };
    if (batch !== first.batch) throw otherBatch(name, batch, first);
  }
  return first?.batch ?? 1;
}

/** The error for inputs of one request with batches that differ. */
export const otherBatch = (name: string, batch: number, first: { readonly name: string; readonly batch: number }) =>
  outOfRange(`shapes.${name}[0]`, `the batch of input '${first.name}', ${first.batch},`, batch);

/** Not what every object has, such as `constructor`. */
export const own = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;

const nameOf = (tensor: { readonly name: string }) => tensor.name;

function planTensor(
  tensor: ClientTensorMetadata,
  role: 'input' | 'output',
  batch: number,
  { model, maxBatchSize, shapes, outputHints, maxOutputBytes = MAX_OUTPUT_BYTES }: PlanInput,
): Unplaced {
  const { name, datatype, shape: declared } = tensor;
  const label = `${role} '${name}' of model '${model}'`;
  if (!isDatatype(datatype)) {
    throw sizeError(`The ${label}`, `has the datatype '${String(datatype)}', which is none of Triton's`);
  }
  const elementBytes = elementByteLength(datatype);
  if (elementBytes === undefined && role === 'input') {
    throw sizeError(
      `The ${label}`,
      'is BYTES, whose size varies by request: send it with the client instead of a slot',
    );
  }
  const shape =
    own(shapes, name) ??
    declared.map((dimension, axis) => (dimension < 0 && axis === 0 && maxBatchSize > 0 ? batch : dimension));
  const isOpen = shape.some((dimension) => dimension < 0);
  if (isOpen && role === 'input') {
    throw sizeError(
      `The ${label}`,
      `has shape [${declared.join(', ')}]: give its maximum as shapes: { '${name}': […] }`,
    );
  }
  const hint = own(outputHints, name)?.byteLength;
  if (isOpen || elementBytes === undefined) {
    const byteLength = hint ?? Math.min(FIRST_OUTPUT_BYTES, maxOutputBytes);
    return {
      name,
      datatype,
      declared,
      shape: isOpen ? shapeWithin(shape, byteLength, datatype) : shape,
      byteLength,
      maxByteLength: Math.max(byteLength, maxOutputBytes),
      openShape: isOpen ? shape : undefined,
    };
  }
  const needed = elementCount(shape) * elementBytes;
  if (!(needed > 0)) {
    throw sizeError(`The ${label}`, `has shape [${shape.join(', ')}], which is empty or does not fit 2^53 bytes`);
  }
  const byteLength = Math.max(needed, hint ?? 0);
  return { name, datatype, declared, shape, byteLength, maxByteLength: byteLength };
}

/** Bytes of the shortest BYTES element: its length prefix. */
const SHORTEST_ELEMENT = 4;

/** The largest shape that fits `byteLength` when the first open dimension grows and the others are 1. */
function shapeWithin(shape: readonly number[], byteLength: number, datatype: Datatype): number[] {
  const elementBytes = elementByteLength(datatype) ?? SHORTEST_ELEMENT;
  const open = shape.findIndex((dimension) => dimension < 0);
  const closed = shape.map((dimension) => (dimension < 0 ? 1 : dimension));
  closed[open] = Math.max(1, Math.floor(byteLength / (elementBytes * elementCount(closed))));
  return closed;
}

/**
 * Checks a shape that a caller gives, which `path` names.
 * @throws TypeError, RangeError unless it fits the model's own shape and the batch is at most `maxBatchSize`
 */
export function checkShape(
  path: string,
  given: readonly number[],
  declared: readonly number[],
  maxBatchSize: number,
): void {
  if (!Array.isArray(given)) throw wrongType(path, 'array of positive integers', given);
  for (let axis = 0; axis < given.length; axis += 1) {
    const dimension: unknown = given[axis];
    if (!Number.isSafeInteger(dimension) || Number(dimension) <= 0) {
      throw outOfRange(path, 'array of positive integers', dimension);
    }
  }
  const fits =
    given.length === declared.length && given.every((dimension, axis) => fitsAxis(declared[axis], dimension));
  if (!fits) throw outOfRange(path, `a shape that fits [${declared.join(', ')}]`, `[${given.join(', ')}]`);
  if (maxBatchSize > 0 && (given[0] ?? 0) > maxBatchSize) {
    throw outOfRange(`${path}[0]`, `at most the model's max_batch_size ${maxBatchSize}`, given[0]);
  }
}

const fitsAxis = (declared: number | undefined, dimension: number) =>
  declared !== undefined && (declared < 0 || declared === dimension);

const sizeError = (subject: string, problem: string) => new PoolError('ERR_TENSOR_SIZE', `${subject} ${problem}`);

/** The error for a name that the model does not have; lists those it has. */
export function unknownTensor(model: string, role: string, name: string, known: readonly string[]): PoolError {
  const list = known.map((each) => `'${each}'`).join(', ');
  return new PoolError('ERR_UNKNOWN_TENSOR', `Model '${model}' has no ${role} '${name}'; it has ${list || 'none'}`);
}
