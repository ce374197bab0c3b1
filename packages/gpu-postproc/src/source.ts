import type { TensorBlock, TensorSpec } from '@zerohop/cuda-native/tensor';
import { wrongType } from './arguments.js';
import { PostprocError } from './errors.js';

const listed = (shape: readonly number[]): string => `[${shape.join(',')}]`;

/** The YOLOv8 head's output: `[1, 4 + classes, anchors]` of FP32. */
export interface Yolov8Source {
  readonly classes: number;
  /** Most anchors of a block. */
  readonly anchors: number;
}

/** Checks the tensor given to `Detector.create`. */
export function readYolov8Source(source: TensorSpec): Yolov8Source {
  if (typeof source !== 'object' || source === null || !Array.isArray(source.shape)) {
    throw wrongType('TensorSpec', 'source', source);
  }
  const { name, datatype, shape } = source;
  const [batch, rows, anchors] = shape as [number, number, number];
  if (datatype !== 'FP32' || shape.length !== 3 || batch !== 1 || !(rows >= 5) || !(anchors >= 1)) {
    throw new PostprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected an FP32 tensor of shape [1,4+classes,anchors] for head 'yolov8' but received '${name}', ${datatype} ${listed(shape)}`,
    );
  }
  return { classes: rows - 4, anchors };
}

/** Refuses a block that can't hold the source's tensor; fewer anchors than its maximum are fine. */
export function checkBlock(block: TensorBlock, source: Yolov8Source): asserts block is TensorBlock<'FP32'> {
  if (typeof block !== 'object' || block === null || !Array.isArray(block.shape) || !('hold' in block)) {
    throw wrongType('TensorBlock', 'block', block);
  }
  const { name, datatype, shape, byteLength } = block;
  const [batch, rows, anchors] = shape as [number, number, number];
  const fits = shape.length === 3 && batch === 1 && rows === 4 + source.classes && anchors >= 1;
  if (datatype !== 'FP32' || !fits || anchors > source.anchors || byteLength !== 4 * rows * anchors) {
    const most = [1, 4 + source.classes, source.anchors];
    throw new PostprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected a block of FP32 ${listed(most)} (or fewer anchors) but received '${name}', ${datatype} ${listed(shape)}, ${byteLength} bytes`,
    );
  }
}

/** The elements of a host block: in place when they are aligned, as those of shared memory are, else a copy. */
export function hostElements(memory: Uint8Array, byteLength: number): Float32Array {
  if (memory.byteLength < byteLength) {
    throw new PostprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected ${byteLength} bytes for the block's memory but received ${memory.byteLength}`,
    );
  }
  if (memory.byteOffset % 4 === 0) return new Float32Array(memory.buffer, memory.byteOffset, byteLength / 4);
  const copy = new Uint8Array(byteLength);
  copy.set(memory.subarray(0, byteLength));
  return new Float32Array(copy.buffer);
}
