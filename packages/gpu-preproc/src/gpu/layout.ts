import { outOfRange } from '../arguments.js';
import { PreprocError } from '../errors.js';
import type { ElementType } from '../reference/elements.js';
import type { FormatTraits } from '../reference/formats.js';
import { type Crop, letterbox, type Placement } from '../reference/geometry.js';
import type { SourceImage } from './device-image.js';
import type { FullRecipe } from './recipe.js';

/** How tiles lie in a picture: a grid with steps, of which the last column and row end with the picture. */
export interface TileGrid {
  readonly columns: number;
  readonly rows: number;
  readonly stepX: number;
  readonly stepY: number;
  readonly lastX: number;
  readonly lastY: number;
}

/** Where a picture goes: its place in the tensor (in each tile alike), and the tiles. */
export interface Layout {
  readonly placement: Placement;
  readonly tiles: TileGrid;
  /** Whether the tensor is the picture, or a tile a part of it, pixel by pixel without padding. */
  readonly direct: boolean;
}

/** The most blocks of a grid in z. */
const MOST_TILES = 65535;

const ONE_TILE: TileGrid = { columns: 1, rows: 1, stepX: 0, stepY: 0, lastX: 0, lastY: 0 };

function tilesAlong(size: number, tile: number, step: number): number {
  return size <= tile ? 1 : Math.ceil((size - tile) / step) + 1;
}

function cut(recipe: FullRecipe, { width, height }: Crop): Layout {
  const stepX = recipe.width - recipe.overlap;
  const stepY = recipe.height - recipe.overlap;
  const placement = { left: 0, top: 0, width: Math.min(width, recipe.width), height: Math.min(height, recipe.height) };
  const columns = tilesAlong(width, recipe.width, stepX);
  const rows = tilesAlong(height, recipe.height, stepY);
  if (columns * rows > MOST_TILES) throw outOfRange(`at most ${MOST_TILES}`, 'the number of tiles', columns * rows);
  return {
    placement,
    tiles: {
      columns,
      rows,
      stepX,
      stepY,
      lastX: Math.max(0, width - recipe.width),
      lastY: Math.max(0, height - recipe.height),
    },
    direct: placement.width === recipe.width && placement.height === recipe.height,
  };
}

/**
 * @throws PreprocError `ERR_IMAGE_SIZE` for `resize: 'none'` and a picture of another size than the tensor's; RangeError
 * for more tiles than a launch can have
 */
export function layOut(recipe: FullRecipe, crop: Crop): Layout {
  if (recipe.resize === 'tiles') return cut(recipe, crop);
  const { width, height } = recipe;
  const same = crop.width === width && crop.height === height;
  if (recipe.resize === 'none' && !same) {
    throw new PreprocError(
      'ERR_IMAGE_SIZE',
      `Expected an image of ${width}x${height} pixels for resize 'none' but received ${crop.width}x${crop.height}`,
    );
  }
  const placement =
    recipe.resize === 'letterbox'
      ? letterbox(crop.width, crop.height, width, height, recipe)
      : { left: 0, top: 0, width, height };
  return { placement, tiles: ONE_TILE, direct: same };
}

/** Where each tile begins in the crop, in the order of the batch. */
export function tileOrigins({ columns, rows, stepX, stepY, lastX, lastY }: TileGrid): { x: number; y: number }[] {
  return Array.from({ length: columns * rows }, (_, i) => ({
    x: Math.min((i % columns) * stepX, lastX),
    y: Math.min(Math.floor(i / columns) * stepY, lastY),
  }));
}

/**
 * Which kernel makes a tensor: `batch` does what the first two, which are quicker, leave out, but for `area`. Those two take
 * one job, the others several.
 */
export type Way = 'direct' | 'resized' | 'batch' | 'area';

const ELEMENT_NAMES = { FP32: 'f32', FP16: 'f16', UINT8: 'u8', INT8: 'u8' } as const;

/** The name of an entry point of kernels/entry.cuh. */
export function entryPoint(way: Way, { kernel }: FormatTraits, datatype: ElementType): string {
  return way === 'area' ? `area_${kernel}` : `${way}_${kernel}_${ELEMENT_NAMES[datatype]}`;
}

const WAYS = { linear: 'resized', nearest: 'batch', area: 'area' } as const;

/** One descriptor's worth of work. */
export interface Part {
  readonly source: SourceImage;
  readonly layout: Layout;
}

/** The kernel for an image, and what it is told: one part, but each tile by itself where tiles have padding. */
export function partsOf(recipe: FullRecipe, source: SourceImage, layout: Layout): { way: Way; parts: Part[] } {
  if (layout.direct) return { way: 'direct', parts: [{ source, layout }] };
  if (recipe.resize !== 'tiles') {
    return { way: WAYS[recipe.interpolation], parts: [{ source, layout }] };
  }
  const { width, height } = layout.placement;
  const parts = tileOrigins(layout.tiles).map(({ x, y }) => ({
    source: { ...source, crop: { x: source.crop.x + x, y: source.crop.y + y, width, height } },
    layout: { ...layout, tiles: ONE_TILE },
  }));
  return { way: 'batch', parts };
}
