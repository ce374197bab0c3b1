import type { Crop } from './geometry.js';

/** Where tiles begin along one side: a step apart, the last one moved inward so that it ends with the picture. */
function starts(size: number, tile: number, overlap: number): number[] {
  const step = tile - overlap;
  const count = size <= tile ? 1 : Math.ceil((size - tile) / step) + 1;
  return Array.from({ length: count }, (_, i) => Math.min(i * step, Math.max(0, size - tile)));
}

/**
 * Cuts a picture, or its crop, into tiles, row by row from the top. Each tile is full where the picture is larger than a
 * tile; where it is smaller, the tile shows all of it.
 */
export function tileParts(
  tile: { readonly width: number; readonly height: number; readonly overlap?: number },
  crop: Crop,
): Crop[] {
  const { width, height, overlap = 0 } = tile;
  const columns = starts(crop.width, width, overlap);
  return starts(crop.height, height, overlap).flatMap((y) =>
    columns.map((x) => ({
      x: crop.x + x,
      y: crop.y + y,
      width: Math.min(width, crop.width),
      height: Math.min(height, crop.height),
    })),
  );
}
