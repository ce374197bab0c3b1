import { ELEMENT_BYTES, elementBits } from '../reference/elements.js';
import type { Depth } from '../reference/formats.js';
import { normalise } from '../reference/tensor.js';
import type { FullRecipe } from './recipe.js';

/** What the values of a source are multiplied with. */
export function scaleFor(recipe: FullRecipe, max: Depth): number {
  const whole = recipe.datatype === 'UINT8' || recipe.datatype === 'INT8';
  return recipe.scale ?? (whole ? 1 : 1 / max);
}

const nothingElse = ({ mean, std }: FullRecipe): boolean => mean.every((v) => v === 0) && std.every((v) => v === 1);

/** Whether kernels need neither table nor arithmetic but a division by the largest value, or bytes as they are. */
export function isPlain(recipe: FullRecipe, max: Depth): boolean {
  if (!nothingElse(recipe) || recipe.datatype === 'INT8') return false;
  const scale = scaleFor(recipe, max);
  return recipe.datatype === 'UINT8' ? scale === 1 && max === 255 : scale === 1 / max;
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
