export { type DecodeOptions, decodeImage } from './decode.js';
export { PreprocError, type PreprocErrorCode } from './errors.js';
export { type Image, type ImageOptions, imageFrom } from './image.js';
export { type PerChannel, Preprocessor, type PreprocessorOptions, type RunOptions } from './preprocessor.js';
export type { Box, Geometry, ResizeMode } from './reference/geometry.js';
export type { PixelFormat } from './reference/pixels.js';
export type { Interpolation } from './reference/resize.js';
export type { ColorOrder } from './reference/tensor.js';
export type { TargetDatatype, TargetSize } from './target.js';
