import { type PixelFormat, traitsOf } from '../reference/formats.js';
import { cropOf, depthOf, type Pixels } from '../reference/pixels.js';
import type { TensorRecipe } from '../reference/tensor.js';

/** Nanoseconds that one pixel of the tensor takes: copied, or made by a resize. */
const OUTPUT_NS = { same: 5, nearest: 9, linear: 24, area: 12 } as const;

/** How much more a pixel of 12 or 16 bits takes that a resize makes. */
const DEEP = 2.5;

/** Nanoseconds that one pixel of the picture takes where a mean is made of all of them. */
const AREA_NS = 6;

/** Nanoseconds to bring one pixel of the picture to RGB. */
function readNs(format: PixelFormat): number {
  if (format === 'RGB8' || format === 'RGB16') return 0;
  if (format === 'NV12') return 9;
  return traitsOf(format).red === undefined ? 3 : 12;
}

/**
 * About how many milliseconds of one thread `imageToTensor` takes for `parts` tensors (tiles) of the recipe's size, on a
 * server's core: it decides how the work is cut and who does it, never what comes out.
 */
export function estimateMs(image: Pixels, recipe: TensorRecipe, parts: number): number {
  const crop = cropOf(image);
  const { resize, interpolation } = recipe;
  const pixels = parts * recipe.width * recipe.height;
  if (resize === 'none' || resize === 'tiles' || (crop.width === recipe.width && crop.height === recipe.height)) {
    return (pixels * (OUTPUT_NS.same + readNs(image.format))) / 1e6;
  }
  const shrinks = recipe.width <= crop.width && recipe.height <= crop.height;
  const area = interpolation === 'area' && shrinks;
  const made = interpolation === 'area' && !shrinks ? 'linear' : interpolation;
  const rowsRead = area ? crop.height : Math.min(crop.height, 2 * recipe.height);
  const perRead = readNs(image.format) + (area ? AREA_NS : 0);
  const each = OUTPUT_NS[made] * (depthOf(image) > 255 && made !== 'nearest' ? DEEP : 1);
  return (pixels * each + rowsRead * crop.width * perRead) / 1e6;
}
