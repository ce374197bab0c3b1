import type { PixelFormat } from '../src/reference/formats.js';
import { BYTES_PER_PIXEL, type Pixels } from '../src/reference/pixels.js';
import {
  geometriesOf,
  imageToTensor,
  type TensorBits,
  type TensorRecipe,
  tensorBits,
} from '../src/reference/tensor.js';
import { noise } from './noise.js';

export const recipe: TensorRecipe = {
  width: 1200,
  height: 900,
  datatype: 'FP32',
  resize: 'stretch',
  interpolation: 'linear',
  colorOrder: 'RGB',
  pad: [114, 114, 114],
};

/** A picture of noise. */
export function picture(format: PixelFormat, width: number, height: number, seed = 1): Pixels {
  const pitch = width * BYTES_PER_PIXEL[format];
  const planes = format === 'NV12' || format.endsWith('P') ? 3 : 1;
  return { width, height, format, pitch, data: noise(seed, planes * pitch * height) };
}

export const elementsOf = (image: Pixels, of: TensorRecipe): number =>
  geometriesOf(image, of).length * (of.channels ?? 3) * of.width * of.height;

export function expected(image: Pixels, of: TensorRecipe): TensorBits {
  const out = tensorBits(of.datatype, elementsOf(image, of));
  imageToTensor(image, of, out);
  return out;
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Large work of every kind: formats, resizes, tiles, layouts, datatypes. */
export const CASES: readonly (readonly [name: string, image: Pixels, of: TensorRecipe])[] = [
  ['RGB8, same size', picture('RGB8', 2000, 1200), { ...recipe, resize: 'none', width: 2000, height: 1200 }],
  ['RGB8, letterboxed', picture('RGB8', 2001, 999), { ...recipe, resize: 'letterbox', colorOrder: 'BGR' }],
  ['BGRA8, enlarged to NHWC bytes', picture('BGRA8', 301, 203), { ...recipe, layout: 'NHWC', datatype: 'UINT8' }],
  ['BAYER_GB8, shrunk by area', picture('BAYER_GB8', 1900, 1500), { ...recipe, interpolation: 'area', height: 700 }],
  ['BAYER_RG12, same size', picture('BAYER_RG12', 1200, 900), { ...recipe, datatype: 'FP16' }],
  ['GRAY16, one channel', picture('GRAY16', 1801, 1301), { ...recipe, channels: 1, mean: [0.4, 0.4, 0.4] }],
  ['NV12, nearest', picture('NV12', 1700, 1300), { ...recipe, interpolation: 'nearest', width: 2400 }],
  ['RGB8P, tiles', picture('RGB8P', 1500, 1100), { ...recipe, resize: 'tiles', overlap: 50, width: 640, height: 480 }],
  [
    'BAYER_BG8, a crop',
    { ...picture('BAYER_BG8', 2001, 1700), crop: { x: 3, y: 101, width: 1601, height: 1205 } },
    { ...recipe, datatype: 'INT8', scale: 0.5 },
  ],
];
