import type { ModelInput, ModelOutput } from '../grpc/gen/model_config.js';

/**
 * The shape in which a model gets an input whose configuration has a `reshape` (InferenceRequest::Normalize): free
 * dimensions keep their sizes, in order.
 *
 * @param shape as checked: with the batch dimension, where the model has one and it is not 0
 */
export function reshapedInput(shape: readonly number[], config: ModelInput): readonly number[] {
  if (config.reshape === undefined) return shape;
  return reshaped(shape, config.dims, config.reshape.shape, shape.length > config.dims.length);
}

/** The shape in which the answer has an output whose configuration has a `reshape` (InferenceResponse::Output::Reshape). */
export function reshapedOutput(shape: readonly number[], config: ModelOutput, batched: boolean): readonly number[] {
  if (config.reshape === undefined) return shape;
  return reshaped(shape, config.reshape.shape, config.dims, batched);
}

function reshaped(shape: readonly number[], from: readonly bigint[], to: readonly bigint[], batched: boolean) {
  const batch = batched ? shape.slice(0, 1) : [];
  const free = shape.slice(batch.length).filter((_, index) => from[index] === -1n);
  return [...batch, ...to.map((dim) => (dim === -1n ? (free.shift() ?? 1) : Number(dim)))];
}
