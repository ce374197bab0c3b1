/** The shapes of one request's inputs: within what the slot keeps for them. */
import { elementByteLength, elementCount } from './datatypes.js';
import { outOfRange } from './errors.js';
import { checkShape, otherBatch, own, type Shapes, type SlotPlan, type TensorPlan, unknownTensor } from './layout.js';

/** What a request says of an input. */
export interface InputShape {
  readonly shape: readonly number[];
  /** Exactly what the shape takes. */
  readonly byteLength: number;
}

/**
 * The shape of every input, in the plan's order: the one given, else the maximum.
 * @throws PoolError ERR_UNKNOWN_TENSOR; TypeError, RangeError for shapes that do not fit the model, the slot or each other
 */
export function inputShapes(plan: SlotPlan, shapes: Shapes): readonly InputShape[] {
  const { model, inputs, maxBatchSize } = plan;
  for (const name of Object.keys(shapes)) {
    if (inputs.some((input) => input.name === name)) continue;
    const known = inputs.map((input) => input.name);
    throw unknownTensor(model, 'input', name, known);
  }
  const all = inputs.map((input): InputShape => {
    const given = own(shapes, input.name);
    return given === undefined ? input : inputShape(`shapes.${input.name}`, input, given, maxBatchSize);
  });
  if (maxBatchSize > 0) checkBatch(inputs, all);
  return all;
}

/** @throws TypeError, RangeError, with `path` as the name of what is wrong */
export function inputShape(
  path: string,
  { datatype, declared, shape, byteLength: capacity }: TensorPlan,
  given: readonly number[],
  maxBatchSize: number,
): InputShape {
  checkShape(path, given, declared, maxBatchSize);
  // Inputs of BYTES are not planned.
  const byteLength = elementCount(given) * (elementByteLength(datatype) ?? Number.NaN);
  if (!(byteLength <= capacity)) {
    throw outOfRange(
      path,
      `a shape of at most ${capacity} bytes, those of [${shape.join(', ')}],`,
      `[${given.join(', ')}]`,
    );
  }
  return { shape: [...given], byteLength };
}

function checkBatch(inputs: readonly TensorPlan[], shapes: readonly InputShape[]): void {
  const [first] = inputs;
  const batch = shapes[0]?.shape[0];
  if (first === undefined || batch === undefined) return;
  for (const [index, input] of inputs.entries()) {
    const own = shapes[index]?.shape[0];
    if (own !== undefined && own !== batch) throw otherBatch(input.name, own, { name: first.name, batch });
  }
}
