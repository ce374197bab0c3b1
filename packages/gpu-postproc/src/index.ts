export type { Box, Detection, Detections } from './detections.js';
export { type BoxMapper, type DetectOptions, Detector, type DetectorOptions } from './detector.js';
export { PostprocError, type PostprocErrorCode } from './errors.js';
export { nms } from './nms.js';
export type { NmsOptions } from './reference/nms.js';
