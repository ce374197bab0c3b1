/** A dense RGB8 picture: `data` holds `width * height * 3` bytes, row by row, no padding. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

export type Rgb = readonly [red: number, green: number, blue: number];

/** Fills the part of the rectangle `[x1, x2) × [y1, y2)` that lies inside the picture. Whole pixels. */
export function fillRectangle(target: Raster, x1: number, y1: number, x2: number, y2: number, color: Rgb): void {
  const left = Math.max(0, x1);
  const right = Math.min(target.width, x2);
  for (let y = Math.max(0, y1); y < Math.min(target.height, y2); y++) {
    let at = (y * target.width + left) * 3;
    for (let x = left; x < right; x++, at += 3) {
      target.data[at] = color[0];
      target.data[at + 1] = color[1];
      target.data[at + 2] = color[2];
    }
  }
}

/**
 * Draws a frame of `thickness` pixels around `[x1, x2) × [y1, y2)`. It grows outwards, so that a box of a few pixels
 * stays visible inside its frame.
 */
export function strokeRectangle(
  target: Raster,
  [x1, y1, x2, y2]: readonly [number, number, number, number],
  thickness: number,
  color: Rgb,
): void {
  fillRectangle(target, x1 - thickness, y1 - thickness, x2 + thickness, y1, color);
  fillRectangle(target, x1 - thickness, y2, x2 + thickness, y2 + thickness, color);
  fillRectangle(target, x1 - thickness, y1, x1, y2, color);
  fillRectangle(target, x2, y1, x2 + thickness, y2, color);
}

/** Copies `source` so that its top left corner lands on (`left`, `top`); what falls outside is dropped. */
export function blit(target: Raster, source: Raster, left: number, top: number): void {
  const firstColumn = Math.max(0, -left);
  const columns = Math.min(source.width, target.width - left) - firstColumn;
  if (columns <= 0) return;
  for (let y = Math.max(0, -top); y < Math.min(source.height, target.height - top); y++) {
    const from = (y * source.width + firstColumn) * 3;
    target.data.set(
      source.data.subarray(from, from + columns * 3),
      ((top + y) * target.width + left + firstColumn) * 3,
    );
  }
}
