import type { Geometry } from '../reference/geometry.js';
import type { Pixels } from '../reference/pixels.js';
import { imageToTensor, type TensorBits, type TensorRecipe } from '../reference/tensor.js';

export interface HostTensor {
  readonly elements: TensorBits;
  readonly shm?: { readonly key: string; readonly byteOffset: number; readonly byteLength: number } | undefined;
}

export async function convert(
  image: Pixels,
  recipe: TensorRecipe,
  out: HostTensor,
  part = { first: 0, count: out.elements.length },
): Promise<Geometry[]> {
  return imageToTensor(image, recipe, out.elements.subarray(part.first, part.first + part.count));
}
