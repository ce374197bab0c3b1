import { checkRecipe, type FullRecipe, type KernelRecipe } from '../src/gpu/recipe.js';
import type { ElementType } from '../src/reference/elements.js';
import { FORMATS, type PixelFormat, traitsOf } from '../src/reference/formats.js';
import { geometriesOf, imageToTensor, type Triple, tensorBits } from '../src/reference.js';
import type { HostImage } from './kernel-definition.js';
import { noise } from './noise.js';

export interface KernelCase {
  readonly name: string;
  readonly image: HostImage;
  readonly recipe: FullRecipe;
}

/** What the CPU path makes of a case: the bytes of the tensor, or of the batch of tiles. */
export function byReference({ image: { byteOffset, data, ...shape }, recipe }: KernelCase): Uint8Array {
  const image = { ...shape, data: data.subarray(byteOffset) };
  const each = recipe.channels * recipe.width * recipe.height;
  const out = tensorBits(recipe.datatype, geometriesOf(image, recipe).length * each);
  imageToTensor(image, recipe, out);
  return new Uint8Array(out.buffer, 0, out.byteLength);
}

type Random = () => number;

export const FORMAT_NAMES = Object.keys(FORMATS) as PixelFormat[];

/** A picture of noise in memory of which only its pixels are noise: between rows and behind them lies `poison`. */
export function noiseImage(
  seed: number,
  shape: Pick<HostImage, 'width' | 'height' | 'format'> & Partial<HostImage>,
  poison = 0xa5,
): HostImage {
  const { width, height, format } = shape;
  const { bytes, kernel, max } = traitsOf(format);
  const pitch = shape.pitch ?? width * bytes;
  const planePitch = shape.planePitch ?? pitch * height;
  const byteOffset = shape.byteOffset ?? 0;
  const planes = { planar8: [height, height, height], nv12: [height, height / 2] }[kernel] ?? [height];
  const last = planes.length - 1;
  const end = byteOffset + last * planePitch + pitch * ((planes[last] as number) - 1) + width * bytes;
  const data = new Uint8Array(Math.ceil((end + 8) / 4) * 4).fill(poison);
  for (const [plane, rows] of planes.entries()) {
    for (let y = 0; y < rows; y++) {
      data.set(noise(seed + 977 * plane + 131 * y, width * bytes), byteOffset + plane * planePitch + y * pitch);
      if (max !== 4095) continue;
      for (let x = 0; x < width; x++) {
        const high = byteOffset + y * pitch + 2 * x + 1;
        data[high] = (data[high] as number) & 0x0f;
      }
    }
  }
  return {
    width,
    height,
    format,
    byteOffset,
    pitch,
    planePitch,
    crop: shape.crop ?? { x: 0, y: 0, width, height },
    matrix: shape.matrix ?? 'bt601',
    range: shape.range ?? 'limited',
    data,
  };
}

/** A random picture and recipe: odd sizes, crops, pitches and offsets, every way of placing and normalising. */
export function randomCase(random: Random, format: PixelFormat, largest = 150): KernelCase {
  const integer = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
  const pick = <T>(values: readonly T[]): T => values[integer(0, values.length - 1)] as T;
  const chance = (share: number) => random() < share;
  const { bytes, max, red } = traitsOf(format);
  const side = () => {
    const size = chance(0.1) ? integer(1, 4) : integer(1, largest);
    if (format === 'NV12') return 2 * Math.ceil(size / 2);
    return red === undefined ? size : Math.max(3, size);
  };
  const [width, height] = [side(), side()];
  const step = max > 255 ? 2 : 1;
  const pitch = width * bytes + step * (chance(0.5) ? integer(0, 9) : 0);
  const crop = { x: 0, y: 0, width, height };
  if (chance(0.3)) {
    crop.x = integer(0, width - 1);
    crop.y = integer(0, height - 1);
    crop.width = integer(1, width - crop.x);
    crop.height = integer(1, height - crop.y);
  }
  // Shrunk by a whole number of pixels, which areas are summed for without weights; by 1 a copy.
  const shrink = chance(0.15) ? Math.min(integer(1, 4), crop.width, crop.height) : undefined;
  crop.width -= crop.width % (shrink ?? 1);
  crop.height -= crop.height % (shrink ?? 1);
  const image = noiseImage(integer(0, 1e6), {
    width,
    height,
    format,
    pitch,
    planePitch: pitch * height + (chance(0.5) ? integer(0, 5) : 0),
    byteOffset: step * integer(0, 5),
    crop,
    matrix: pick(['bt601', 'bt709', 'bt2020'] as const),
    range: pick(['limited', 'full'] as const),
  });
  const way = shrink !== undefined ? 'stretch' : pick(['letterbox', 'letterbox', 'stretch', 'none', 'tiles'] as const);
  const tile = [integer(2, 60), integer(2, 60)] as const;
  const size = (): readonly [number, number] => {
    if (shrink !== undefined || way === 'none') return [crop.width / (shrink ?? 1), crop.height / (shrink ?? 1)];
    return way === 'tiles' ? tile : [integer(1, largest), integer(1, largest)];
  };
  const [targetWidth, targetHeight] = size();
  const triple = (make: () => number): Triple => [make(), make(), make()];
  const plain = chance(0.5);
  const datatype = pick<ElementType>(['FP32', 'FP16', 'FP32', 'FP16', 'UINT8', 'INT8']);
  // So that most values are within what bytes hold, and some beyond.
  const unit = datatype.endsWith('INT8') ? 255 : 1;
  const recipe: KernelRecipe = {
    width: targetWidth,
    height: targetHeight,
    resize: way,
    datatype,
    layout: chance(0.25) ? 'NHWC' : 'NCHW',
    channels: format.startsWith('GRAY') && chance(0.5) ? 1 : 3,
    interpolation: pick(['linear', 'linear', 'linear', 'area', 'area', 'nearest'] as const),
    colorOrder: format.startsWith('GRAY') ? 'RGB' : pick(['RGB', 'BGR'] as const),
    pad: triple(() => integer(0, 255)),
    align: pick(['centre', 'topLeft'] as const),
    scaleUp: chance(0.7),
    ...(way === 'tiles' && { overlap: integer(0, Math.min(...tile) - 1) }),
    ...(!plain && { mean: triple(() => unit * random()), std: triple(() => 0.1 + random()) }),
    // The second makes many halves.
    ...(chance(0.5) && { scale: pick([(unit * (0.2 + random())) / max, 128 / (max + 1)]) }),
  };
  const name = `${format} ${width}x${height} pitch ${pitch} to ${targetWidth}x${targetHeight} ${way} ${datatype}`;
  return { name, image, recipe: checkRecipe(recipe) };
}
