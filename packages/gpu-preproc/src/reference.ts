/**
 * The definition of what this package computes, in plain TypeScript on host memory: the geometry, the resize, the
 * normalisation and the layout. It is also what runs today when a `Preprocessor` writes a tensor.
 */

export type { PixelFormat } from './reference/formats.js';
export {
  type Box,
  type Crop,
  Geometry,
  type LetterboxOptions,
  letterbox,
  type Placement,
  type ResizeMode,
} from './reference/geometry.js';
export { type ExifOrientation, orient, uprightSize } from './reference/orient.js';
export { BYTES_PER_PIXEL, type Pixels } from './reference/pixels.js';
export { type Interpolation, resize } from './reference/resize.js';
export { float16Bits, roundHalfEven } from './reference/rounding.js';
export {
  type ColorOrder,
  geometriesOf,
  imageToTensor,
  type Normalisation,
  normalisationTable,
  normalise,
  type RowBand,
  type TensorBits,
  type TensorRecipe,
  type Triple,
  tensorBits,
} from './reference/tensor.js';
