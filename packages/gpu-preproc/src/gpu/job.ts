import { colorMatrix } from '../reference/color-matrix.js';
import { ELEMENT_BYTES } from '../reference/elements.js';
import type { SourceImage } from './device-image.js';
import type { Layout } from './layout.js';
import { isPlain, scaleFor, valueBits } from './normalisation.js';
import type { FullRecipe } from './recipe.js';

/** `sizeof(ImageJob)` of kernels/job.cuh. */
export const JOB_BYTES = 264;

/** Writes one member behind the other: the struct has no gaps. */
class Writer {
  readonly view = new DataView(new ArrayBuffer(JOB_BYTES));
  #at = 0;

  i64(...values: (number | bigint)[]): void {
    for (const value of values) this.view.setBigInt64(this.#next(8), BigInt(value), true);
  }

  f64(...values: number[]): void {
    for (const value of values) this.view.setFloat64(this.#next(8), value, true);
  }

  /** Signed or unsigned: the bits are the same. */
  i32(...values: number[]): void {
    for (const value of values) this.view.setUint32(this.#next(4), value >>> 0, true);
  }

  f32(...values: number[]): void {
    for (const value of values) this.view.setFloat32(this.#next(4), value, true);
  }

  #next(bytes: number): number {
    const at = this.#at;
    this.#at += bytes;
    return at;
  }
}

/**
 * The kernels' descriptor of one image, as kernels/job.cuh lays it out. Its offsets count from the source's and the
 * output's first byte; `from` adds to them: the address where the kernel gets a null pointer, and elements.
 */
export function writeJob(
  recipe: FullRecipe,
  image: SourceImage,
  { placement, tiles }: Layout,
  from: { readonly source: bigint; readonly outputElements: number } = { source: 0n, outputElements: 0 },
): DataView {
  const { traits, crop } = image;
  const { width, height, channels } = recipe;
  const interleaved = recipe.layout === 'NHWC';
  const planes = traits.colors.map((color) => (recipe.colorOrder === 'BGR' && channels === 3 ? 2 - color : color));
  const byPlane = <T>(values: readonly T[]) => planes.map((plane) => values[plane] as T);
  const pixelStride = interleaved ? channels : 1;
  const bits = planes.map((plane) =>
    valueBits(recipe, traits.max, plane, ((recipe.pad[plane] as number) * traits.max) / 255),
  );
  const w = new Writer();
  w.i64(from.source + BigInt(image.byteOffset), from.outputElements);
  w.i64(...planes.map((plane) => (interleaved ? plane : plane * width * height)));
  // 1 / (target / source), as OpenCV computes it.
  w.f64(1 / (placement.width / crop.width), 1 / (placement.height / crop.height));
  w.i32(image.pitch, width * pixelStride, pixelStride, width);
  w.i32(placement.left, placement.top, placement.width, placement.height);
  w.i32(crop.x, crop.y, crop.width, crop.height);
  // The 8-bit kernels take the table instead where it is not plain.
  const divisor = isPlain(recipe, traits.max) ? traits.max : 0;
  w.f32(divisor, divisor === 0 ? 0 : 1 / divisor);
  w.i32(channels, recipe.interpolation === 'nearest' ? 1 : 0);
  w.i32(...bits, ...planes.map((plane) => 256 * plane));
  w.i64(image.planePitch, channels * width * height);
  w.f64(scaleFor(recipe, traits.max));
  w.i32(tiles.columns, tiles.stepX, tiles.stepY, tiles.lastX, tiles.lastY);
  w.i32(image.width, image.height, traits.firstByte ?? 0);
  const matrix = colorMatrix(image.matrix, image.range);
  w.i32(matrix.lumaOffset, matrix.luma, matrix.vToRed, matrix.uToGreen, matrix.vToGreen, matrix.uToBlue);
  w.i32(...(traits.red ?? [0, 0]));
  w.f32(...byPlane(recipe.mean), ...byPlane(recipe.std));
  w.i32(recipe.datatype === 'INT8' ? -128 : 0, ELEMENT_BYTES[recipe.datatype]);
  return w.view;
}
