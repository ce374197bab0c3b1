import type { TensorBlock, TensorSpec } from '@zerohop/cuda-native/tensor';
import { checkFields, checkOneOf, checkPositiveInteger, fieldsOf, outOfRange, wrongType } from './arguments.js';
import { PreprocError } from './errors.js';
import { ELEMENT_BYTES } from './reference/elements.js';
import { type TensorBits, typedElements } from './reference/tensor.js';

/** The datatypes that are written. */
export type TargetDatatype = 'FP32' | 'FP16' | 'UINT8' | 'INT8';

/** A target described without a tensor at hand. */
export interface TargetSize {
  readonly width: number;
  readonly height: number;
  /** @defaultValue 'FP32' */
  readonly datatype?: TargetDatatype;
  /** @defaultValue 'NCHW' */
  readonly layout?: 'NCHW' | 'NHWC';
  /** 1 only for gray pictures. @defaultValue 3 */
  readonly channels?: 1 | 3;
  /** How many pictures or tiles. @defaultValue 1 */
  readonly batch?: number;
}

/** What is written: `[batch, channels, height, width]` or `[batch, height, width, channels]`, dense; `shape` may lack a batch of 1. */
export interface Target {
  readonly width: number;
  readonly height: number;
  readonly datatype: TargetDatatype;
  readonly layout: 'NCHW' | 'NHWC';
  readonly channels: 1 | 3;
  readonly batch: number;
  readonly shape: readonly number[];
  readonly byteLength: number;
}

const DATATYPES = ['FP32', 'FP16', 'UINT8', 'INT8'] as const;

const isChannels = (size: number | undefined): size is 1 | 3 => size === 1 || size === 3;

function tensorTarget(target: Omit<Target, 'shape' | 'byteLength'>): Target {
  const { batch, channels, height, width, layout, datatype } = target;
  const shape = layout === 'NCHW' ? [batch, channels, height, width] : [batch, height, width, channels];
  return { ...target, shape, byteLength: batch * channels * height * width * ELEMENT_BYTES[datatype] };
}

const listed = (shape: readonly number[]): string => `[${shape.join(',')}]`;

const SIZE_FIELDS = fieldsOf<TargetSize>({
  width: true,
  height: true,
  datatype: true,
  layout: true,
  channels: true,
  batch: true,
});

function sizedTarget(target: TargetSize): Target {
  checkFields('target', target, SIZE_FIELDS);
  const channels = target.channels ?? 3;
  if (!isChannels(channels)) throw outOfRange('1 or 3', 'target.channels', channels);
  return tensorTarget({
    batch: checkPositiveInteger('target.batch', target.batch ?? 1),
    channels,
    layout: checkOneOf('target.layout', target.layout ?? 'NCHW', ['NCHW', 'NHWC']),
    width: checkPositiveInteger('target.width', target.width),
    height: checkPositiveInteger('target.height', target.height),
    datatype: checkOneOf('target.datatype', target.datatype ?? 'FP32', DATATYPES),
  });
}

/**
 * Checks a target given to `Preprocessor.create`; one of three dimensions is a batch of 1. A shape with the channels in both places is read
 * as NCHW.
 */
export function readTarget(target: TensorSpec | TargetSize): Target {
  if (typeof target !== 'object' || target === null) {
    throw wrongType('TensorSpec or { width, height }', 'target', target);
  }
  if (!('shape' in target)) return sizedTarget(target);
  const { name, shape } = target;
  const datatype = DATATYPES.find((candidate) => candidate === target.datatype);
  // Of models without batches; of one channel it could as well be something else, as a detector's [1,84,8400].
  const unbatched = shape.length === 3 && shape.includes(3);
  const [batch, a, b, c] = unbatched ? [1, ...shape] : shape;
  const layout = isChannels(a) ? 'NCHW' : 'NHWC';
  const [channels, height, width] = layout === 'NCHW' ? [a, b, c] : [c, a, b];
  if (datatype === undefined || (shape.length !== 4 && !(unbatched && channels === 3)) || !isChannels(channels)) {
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected an FP32, FP16, UINT8 or INT8 tensor of shape [batch,3,height,width] or [batch,height,width,3] (or 1 channel), or without batch, for target but received '${name}', ${target.datatype} ${listed(shape)}`,
    );
  }
  const batched = tensorTarget({
    batch: checkPositiveInteger('target batch', batch),
    channels,
    layout,
    width: checkPositiveInteger('target width', width),
    height: checkPositiveInteger('target height', height),
    datatype,
  });
  return { ...batched, shape: [...shape] };
}

/** Refuses a block that is not exactly the target. */
export function checkBlock(block: TensorBlock, target: Target): void {
  if (typeof block !== 'object' || block === null || !Array.isArray(block.shape) || !('hold' in block)) {
    throw wrongType("TensorBlock, such as a lease's input(name),", 'block', block);
  }
  const expected = target.shape;
  const same = block.shape.length === expected.length && expected.every((size, i) => size === block.shape[i]);
  if (!same || block.datatype !== target.datatype || block.byteLength !== target.byteLength) {
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected a block of ${target.datatype} ${listed(expected)}, ${target.byteLength} bytes, but received '${block.name}', ${block.datatype} ${listed(block.shape)}, ${block.byteLength} bytes`,
    );
  }
}

/** The elements of a host block as bit patterns, in place. */
export function hostElements(memory: Uint8Array, target: Target): TensorBits {
  const elementBytes = ELEMENT_BYTES[target.datatype];
  if (memory.byteLength !== target.byteLength || memory.byteOffset % elementBytes !== 0) {
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected ${target.byteLength} bytes aligned to ${elementBytes} for the block's memory but received ${memory.byteLength} at byte offset ${memory.byteOffset}`,
    );
  }
  return typedElements(target.datatype, memory.buffer, memory.byteOffset, memory.byteLength / elementBytes);
}
