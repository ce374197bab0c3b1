import { float16Bits, roundHalfEven } from '../reference/rounding.js';
import { normalise } from '../reference/tensor.js';
import { ELEMENT_BYTES, type ElementType, type FullRecipe } from './recipe.js';

/** The largest value of a source: 8, 12 or 16 bits. */
export type Depth = 255 | 4095 | 65535;

/** What the values of a source are multiplied with. */
export function scaleFor(recipe: FullRecipe, max: Depth): number {
  const whole = recipe.datatype === 'UINT8' || recipe.datatype === 'INT8';
  return recipe.scale ?? (whole ? 1 : 1 / max);
}

const nothingElse = ({ mean, std }: FullRecipe): boolean => mean.every((v) => v === 0) && std.every((v) => v === 1);

/** Whether kernels need no table: a division by the largest value, or bytes as they are. */
export function isPlain(recipe: FullRecipe, max: Depth): boolean {
  if (!nothingElse(recipe) || recipe.datatype === 'INT8') return false;
  return scaleFor(recipe, max) === (recipe.datatype === 'UINT8' ? 1 : 1 / max);
}

const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

/** A normalised value as the bits of one element; INT8 and UINT8 rounded half to even and saturated. */
export function elementBits(datatype: ElementType, value: number): number {
  switch (datatype) {
    case 'FP32':
      float[0] = value;
      return floatBits[0] as number;
    case 'FP16':
      return float16Bits(value);
    case 'UINT8':
      return Math.min(Math.max(roundHalfEven(value), 0), 255);
    case 'INT8':
      return Math.min(Math.max(roundHalfEven(value), -128), 127) & 0xff;
  }
}

/** The bits of one value of the source in one plane. */
export function valueBits(recipe: FullRecipe, max: Depth, plane: number, value: number): number {
  const { mean, std } = recipe;
  const scale = scaleFor(recipe, max);
  return elementBits(recipe.datatype, normalise(value, scale, mean[plane] as number, std[plane] as number));
}

/** The elements of the 256 bytes for each of the three planes, as the kernels read them. */
export function tableBytes(recipe: FullRecipe): Uint8Array {
  const size = ELEMENT_BYTES[recipe.datatype];
  const bytes = new Uint8Array(768 * size);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < 768; i++) {
    const bits = valueBits(recipe, 255, i >> 8, i & 255);
    if (size === 4) view.setUint32(4 * i, bits, true);
    else if (size === 2) view.setUint16(2 * i, bits, true);
    else view.setUint8(i, bits);
  }
  return bytes;
}
