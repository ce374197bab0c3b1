/**
 * The definition of what this package computes, in plain TypeScript on host memory. It is also what runs today when a
 * `Detector` reads a tensor.
 */
import { greedyNms, type NmsOptions } from './reference/nms.js';

export { greedyNms, type NmsOptions, type NmsResult } from './reference/nms.js';
export { type Candidates, type DecodeOptions, decodeYolov8 } from './reference/yolov8.js';

/** {@link greedyNms}'s indices alone. */
export const nms = (boxes: ArrayLike<number>, scores: ArrayLike<number>, options: NmsOptions): Int32Array =>
  greedyNms(boxes, scores, options).indices;
