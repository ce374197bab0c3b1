import type { TensorBlock, TensorSpec } from '@zerohop/cuda-native/tensor';
import { checkOneOf, checkPositiveInteger, wrongType } from './arguments.js';
import { PreprocError } from './errors.js';
import type { TensorBits } from './reference/tensor.js';

/** The datatypes that are written. */
export type TargetDatatype = 'FP32' | 'FP16';

/** A target described without a tensor at hand. */
export interface TargetSize {
  readonly width: number;
  readonly height: number;
  /** @defaultValue 'FP32' */
  readonly datatype?: TargetDatatype;
  /** @defaultValue 'NCHW' */
  readonly layout?: 'NCHW';
}

/** What is written: `[1, 3, height, width]`, dense, of `datatype`. */
export interface Target {
  readonly width: number;
  readonly height: number;
  readonly datatype: TargetDatatype;
  readonly byteLength: number;
}

const DATATYPES = ['FP32', 'FP16'] as const;

const tensorTarget = (width: number, height: number, datatype: TargetDatatype): Target => ({
  width,
  height,
  datatype,
  byteLength: 3 * height * width * (datatype === 'FP32' ? 4 : 2),
});

const listed = (shape: readonly number[]): string => `[${shape.join(',')}]`;

/** Checks a target given to `Preprocessor.create`. */
export function readTarget(target: TensorSpec | TargetSize): Target {
  if (typeof target !== 'object' || target === null) {
    throw wrongType('TensorSpec or { width, height }', 'target', target);
  }
  if (!('shape' in target)) {
    checkOneOf('target.layout', target.layout ?? 'NCHW', ['NCHW']);
    return tensorTarget(
      checkPositiveInteger('target.width', target.width),
      checkPositiveInteger('target.height', target.height),
      checkOneOf('target.datatype', target.datatype ?? 'FP32', DATATYPES),
    );
  }
  const { name, shape } = target;
  const datatype = DATATYPES.find((candidate) => candidate === target.datatype);
  const [batch, channels, height, width] = shape;
  if (datatype === undefined || shape.length !== 4 || batch !== 1 || channels !== 3) {
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected an FP32 or FP16 tensor of shape [1,3,height,width] for target but received '${name}', ${target.datatype} ${listed(shape)}`,
    );
  }
  return tensorTarget(
    checkPositiveInteger('target width', width),
    checkPositiveInteger('target height', height),
    datatype,
  );
}

/** Refuses a block that is not exactly the target. */
export function checkBlock(block: TensorBlock, target: Target): void {
  if (typeof block !== 'object' || block === null || !Array.isArray(block.shape) || !('hold' in block)) {
    throw wrongType('TensorBlock', 'block', block);
  }
  const expected = [1, 3, target.height, target.width];
  const same = block.shape.length === 4 && expected.every((size, i) => size === block.shape[i]);
  if (!same || block.datatype !== target.datatype || block.byteLength !== target.byteLength) {
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected a block of ${target.datatype} ${listed(expected)}, ${target.byteLength} bytes, but received '${block.name}', ${block.datatype} ${listed(block.shape)}, ${block.byteLength} bytes`,
    );
  }
}

/** The elements of a host block as bit patterns, in place. */
export function hostElements(memory: Uint8Array, target: Target): TensorBits {
  const elementBytes = target.datatype === 'FP32' ? 4 : 2;
  if (memory.byteLength !== target.byteLength || memory.byteOffset % elementBytes !== 0) {
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected ${target.byteLength} bytes aligned to ${elementBytes} for the block's memory but received ${memory.byteLength} at byte offset ${memory.byteOffset}`,
    );
  }
  const count = target.byteLength / elementBytes;
  return target.datatype === 'FP32'
    ? new Int32Array(memory.buffer, memory.byteOffset, count)
    : new Uint16Array(memory.buffer, memory.byteOffset, count);
}
