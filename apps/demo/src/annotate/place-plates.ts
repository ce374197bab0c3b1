/** Where something lies, in whole pixels: `[left, right) × [top, bottom)`. */
export interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A plate moves away from its box by at most this many of its own heights. */
const furthest = 4;

/**
 * Finds a place for a plate: above its box, below it, then ever further up and down, flush with an edge of the box
 * or beside it; the first place where it lies on none of `taken`. In a crowd where there is none it lies on others.
 *
 * @returns its top left corner, such that the whole plate lies in the picture; it must not be larger than that
 */
export function placePlate(plate: Size, box: Area, taken: readonly Area[], picture: Size): { x: number; y: number } {
  const columns = [box.left, box.right - plate.width, box.left - plate.width, box.right];
  const rows: number[] = [];
  for (let step = 0; step <= furthest; step++) {
    rows.push(box.top - (step + 1) * plate.height, box.bottom + step * plate.height);
  }
  const places = rows
    .filter((y) => y >= 0 && y + plate.height <= picture.height)
    .flatMap((y) => columns.map((x) => ({ x: within(x, picture.width - plate.width), y })));
  // A box as high as the picture has room neither above nor below.
  if (places.length === 0) {
    const y = within(box.top, picture.height - plate.height);
    places.push(...columns.map((x) => ({ x: within(x, picture.width - plate.width), y })));
  }
  const free = places.find((place) => !taken.some((other) => overlaps(areaOf(plate, place), other)));
  return free ?? (places[0] as { x: number; y: number });
}

/** The area of a plate at a place. */
export function areaOf({ width, height }: Size, { x, y }: { x: number; y: number }): Area {
  return { left: x, top: y, right: x + width, bottom: y + height };
}

function overlaps(a: Area, b: Area): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function within(value: number, largest: number): number {
  return Math.max(0, Math.min(value, largest));
}
