/** Plans one slot: which tensors it holds, their maximum shapes, and where they lie in the slot's region. Pure. */
import type { Datatype } from '@zerohop/cuda-native/tensor';
import type { ClientTensorMetadata } from './client.js';
import { elementByteLength, elementCount, isDatatype } from './datatypes.js';
import { outOfRange, PoolError, wrongType } from './errors.js';

/** Blocks start at multiples of this: what CUDA guarantees for an allocation, and more than any CPU vector needs. */
export const BLOCK_ALIGNMENT = 256;

export interface TensorPlan<D extends Datatype = Datatype> {
  readonly name: string;
  readonly datatype: D;
  /** Maximum shape, in elements; every dimension is positive. */
  readonly shape: readonly number[];
  /** Capacity in bytes. */
  readonly byteLength: number;
  /** From the start of the slot's region, in bytes. */
  readonly byteOffset: number;
}

export interface SlotPlan {
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

export interface PlanInput {
  readonly model: string;
  readonly inputs: readonly ClientTensorMetadata[];
  readonly outputs: readonly ClientTensorMetadata[];
  readonly maxBatchSize: number;
  readonly shapes?: Shapes | undefined;
  readonly outputHints?: OutputHints | undefined;
}

const aligned = (byteOffset: number) => Math.ceil(byteOffset / BLOCK_ALIGNMENT) * BLOCK_ALIGNMENT;

/**
 * Inputs first, then outputs, each at a 256-byte-aligned offset. A dimension of -1 is taken from `shapes`; the batch
 * dimension of a model with `maxBatchSize > 0` is 1 unless `shapes` says otherwise, and outputs take the inputs' batch.
 * @throws PoolError ERR_TENSOR_SIZE, ERR_UNKNOWN_TENSOR; TypeError or RangeError for shapes that do not fit the model
 */
export function planSlot(input: PlanInput): SlotPlan {
  checkNames(input);
  let end = 0;
  const place = (tensors: readonly ClientTensorMetadata[], role: 'input' | 'output', batch: number) =>
    tensors.map((tensor): TensorPlan => {
      const { shape, byteLength } = planTensor(tensor, role, batch, input);
      const byteOffset = aligned(end);
      end = byteOffset + byteLength;
      return { name: tensor.name, datatype: tensor.datatype, shape, byteLength, byteOffset };
    });
  const inputs = place(input.inputs, 'input', 1);
  const inputByteLength = end;
  const batch = input.maxBatchSize > 0 ? (inputs[0]?.shape[0] ?? 1) : 1;
  const outputs = place(input.outputs, 'output', batch);
  if (!Number.isSafeInteger(end)) throw sizeError('The slot', 'does not fit 2^53 bytes');
  return { inputs, outputs, inputByteLength, byteLength: end };
}

function checkNames({ model, inputs, outputs, shapes = {}, outputHints = {} }: PlanInput): void {
  const names = new Set([...inputs, ...outputs].map((tensor) => tensor.name));
  for (const name of Object.keys(shapes)) {
    if (!names.has(name)) throw unknownTensor(model, 'tensor', name, [...names]);
  }
  const known = outputs.map((tensor) => tensor.name);
  for (const [name, hint] of Object.entries(outputHints)) {
    if (!known.includes(name)) throw unknownTensor(model, 'output', name, known);
    if (!Number.isSafeInteger(hint.byteLength) || hint.byteLength <= 0) {
      throw outOfRange(`outputs.${name}.byteLength`, 'positive integer', hint.byteLength);
    }
  }
}

function planTensor(
  tensor: ClientTensorMetadata,
  role: 'input' | 'output',
  batch: number,
  { model, maxBatchSize, shapes, outputHints }: PlanInput,
): { shape: readonly number[]; byteLength: number } {
  const label = `${role} '${tensor.name}' of model '${model}'`;
  if (!isDatatype(tensor.datatype)) {
    throw sizeError(`The ${label}`, `has the datatype '${String(tensor.datatype)}', which is none of Triton's`);
  }
  const elementBytes = elementByteLength(tensor.datatype);
  if (elementBytes === undefined && role === 'input') {
    throw sizeError(
      `The ${label}`,
      'is BYTES, whose size varies by request: send it with the client instead of a slot',
    );
  }
  const given = shapes?.[tensor.name];
  if (given !== undefined) checkShape(tensor, given, maxBatchSize);
  const hint = outputHints?.[tensor.name]?.byteLength;
  let shape =
    given ??
    tensor.shape.map((dimension, axis) => (dimension < 0 && axis === 0 && maxBatchSize > 0 ? batch : dimension));
  if (shape.some((dimension) => dimension < 0)) {
    if (role === 'input' || hint === undefined) {
      throw sizeError(
        `The ${label}`,
        `has shape [${tensor.shape.join(', ')}]: give its maximum as shapes: { '${tensor.name}': […] }`,
      );
    }
    shape = shapeWithin(shape, hint, elementBytes ?? 1);
  }
  if (elementBytes === undefined) {
    if (hint === undefined) {
      throw sizeError(
        `The ${label}`,
        `is BYTES: give its largest size as outputs: { '${tensor.name}': { byteLength: … } }`,
      );
    }
    return { shape, byteLength: hint };
  }
  const byteLength = elementCount(shape) * elementBytes;
  if (!(byteLength > 0)) {
    throw sizeError(`The ${label}`, `has shape [${shape.join(', ')}], which is empty or does not fit 2^53 bytes`);
  }
  return { shape, byteLength: Math.max(byteLength, hint ?? 0) };
}

/** The largest shape that fits `byteLength` when the first open dimension grows and the others are 1. */
function shapeWithin(shape: readonly number[], byteLength: number, elementBytes: number): number[] {
  const open = shape.findIndex((dimension) => dimension < 0);
  const closed = shape.map((dimension) => (dimension < 0 ? 1 : dimension));
  closed[open] = Math.max(1, Math.floor(byteLength / (elementBytes * elementCount(closed))));
  return closed;
}

function checkShape(tensor: ClientTensorMetadata, given: readonly number[], maxBatchSize: number): void {
  const name = `shapes.${tensor.name}`;
  if (!Array.isArray(given)) throw wrongType(name, 'array of positive integers', given);
  const wrong = given.find((dimension) => !Number.isSafeInteger(dimension) || dimension <= 0);
  if (wrong !== undefined) throw outOfRange(name, 'array of positive integers', wrong);
  const fits =
    given.length === tensor.shape.length && given.every((dimension, axis) => fitsAxis(tensor, axis, dimension));
  if (!fits) throw outOfRange(name, `a shape that fits [${tensor.shape.join(', ')}]`, `[${given.join(', ')}]`);
  if (maxBatchSize > 0 && (given[0] ?? 0) > maxBatchSize) {
    throw outOfRange(`${name}[0]`, `at most the model's max_batch_size ${maxBatchSize}`, given[0]);
  }
}

const fitsAxis = (tensor: ClientTensorMetadata, axis: number, dimension: number) =>
  (tensor.shape[axis] ?? 0) < 0 || tensor.shape[axis] === dimension;

const sizeError = (subject: string, problem: string) => new PoolError('ERR_TENSOR_SIZE', `${subject} ${problem}`);

/** The error for a name that the model does not have; lists those it has. */
export function unknownTensor(model: string, role: string, name: string, known: readonly string[]): PoolError {
  const list = known.map((each) => `'${each}'`).join(', ');
  return new PoolError('ERR_UNKNOWN_TENSOR', `Model '${model}' has no ${role} '${name}'; it has ${list || 'none'}`);
}
