/** Up to this many kept boxes a plain scan is fastest; beyond it they are also entered into a grid. */
const GRID_FROM = 256;
const CELLS_PER_SIDE = 128;
/** A box over more cells than this is not entered but looked at by every query. */
const MAX_CELLS_PER_BOX = 64;

/** What the grid's cells are cut from: the smallest rectangle round all boxes that can overlap anything. */
interface Extent {
  readonly x: number;
  readonly y: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
}

/**
 * The boxes that greedy NMS has kept so far, and the question it asks for each further one: does any of them suppress
 * it? The answer is exact: a grid only spares looking at boxes that are too far away to share a single pixel.
 *
 * All arithmetic is fp32, each operation rounded, and `Sa + Sb − I` is added in that order. A box whose area is not a
 * positive finite number (NaN or infinite coordinates, no width, corners swapped) neither suppresses nor is suppressed:
 * its IoU with anything is 0 or NaN. Such boxes are never entered here.
 */
export class KeptBoxes {
  readonly #boxes: Float32Array;
  readonly #classes: ArrayLike<number> | undefined;
  readonly #threshold: number;
  /** Five numbers for each kept box: x1, y1, x2, y2, area. */
  #kept = new Float32Array(5 * GRID_FROM);
  /** Doubles, so that a class id is whatever number the caller has. */
  #keptClass = new Float64Array(GRID_FROM);
  #count = 0;
  #extent: Extent | undefined;
  /** Singly linked lists of kept boxes, one per cell, and one of large boxes: `head` → entry → … → −1. */
  readonly #head = new Int32Array(CELLS_PER_SIDE * CELLS_PER_SIDE + 1).fill(-1);
  #next = new Int32Array(1024);
  #entry = new Int32Array(1024);
  #entries = 0;

  /**
   * @param boxes x1, y1, x2, y2 of every box; borrowed
   * @param classes ids; boxes of different ids never suppress each other. Undefined: all boxes are of one class
   */
  constructor(boxes: Float32Array, classes: ArrayLike<number> | undefined, iouThreshold: number) {
    this.#boxes = boxes;
    this.#classes = classes;
    this.#threshold = Math.fround(iouThreshold);
  }

  /** Keeps box `index` unless a kept box of its class has IoU > threshold with it; tells whether it did. */
  tryKeep(index: number): boolean {
    const at = 4 * index;
    const x1 = this.#boxes[at] as number;
    const y1 = this.#boxes[at + 1] as number;
    const x2 = this.#boxes[at + 2] as number;
    const y2 = this.#boxes[at + 3] as number;
    const area = areaOf(x1, y1, x2, y2);
    if (area === 0) return true;
    const classId = this.#classes === undefined ? 0 : (this.#classes[index] as number);
    if (this.#count === GRID_FROM) this.#startGrid();
    if (this.#extent === undefined) {
      for (let k = 0; k < this.#count; k++) if (this.#suppresses(k, classId, x1, y1, x2, y2, area)) return false;
    } else if (this.#gridSuppresses(this.#extent, classId, x1, y1, x2, y2, area)) return false;
    this.#keep(classId, x1, y1, x2, y2, area);
    return true;
  }

  #suppresses(k: number, classId: number, x1: number, y1: number, x2: number, y2: number, area: number): boolean {
    const kept = this.#kept;
    const at = 5 * k;
    const left = Math.max(x1, kept[at] as number);
    const right = Math.min(x2, kept[at + 2] as number);
    if (left >= right) return false;
    const top = Math.max(y1, kept[at + 1] as number);
    const bottom = Math.min(y2, kept[at + 3] as number);
    if (top >= bottom || this.#keptClass[k] !== classId) return false;
    const shared = Math.fround(Math.fround(right - left) * Math.fround(bottom - top));
    const union = Math.fround(Math.fround((kept[at + 4] as number) + area) - shared);
    return Math.fround(shared / union) > this.#threshold;
  }

  #keep(classId: number, x1: number, y1: number, x2: number, y2: number, area: number): void {
    const k = this.#count++;
    if (this.#keptClass.length === k) {
      this.#kept = grown(this.#kept, new Float32Array(10 * k));
      this.#keptClass = grown(this.#keptClass, new Float64Array(2 * k));
    }
    this.#kept.set([x1, y1, x2, y2, area], 5 * k);
    this.#keptClass[k] = classId;
    if (this.#extent !== undefined) this.#enter(this.#extent, k);
  }

  #startGrid(): void {
    let [x1, y1, x2, y2] = [Infinity, Infinity, -Infinity, -Infinity];
    const boxes = this.#boxes;
    for (let at = 0; at < boxes.length; at += 4) {
      const [left, top, right, bottom] = [boxes[at], boxes[at + 1], boxes[at + 2], boxes[at + 3]] as [
        number,
        number,
        number,
        number,
      ];
      if (areaOf(left, top, right, bottom) === 0) continue;
      x1 = Math.min(x1, left);
      y1 = Math.min(y1, top);
      x2 = Math.max(x2, right);
      y2 = Math.max(y2, bottom);
    }
    this.#extent = { x: x1, y: y1, cellWidth: (x2 - x1) / CELLS_PER_SIDE, cellHeight: (y2 - y1) / CELLS_PER_SIDE };
    for (let k = 0; k < this.#count; k++) this.#enter(this.#extent, k);
  }

  #enter(extent: Extent, k: number): void {
    const [x1, y1, x2, y2] = this.#kept.subarray(5 * k, 5 * k + 4) as unknown as [number, number, number, number];
    const column0 = cell(x1, extent.x, extent.cellWidth);
    const column1 = cell(x2, extent.x, extent.cellWidth);
    const row0 = cell(y1, extent.y, extent.cellHeight);
    const row1 = cell(y2, extent.y, extent.cellHeight);
    if ((column1 - column0 + 1) * (row1 - row0 + 1) > MAX_CELLS_PER_BOX) {
      this.#push(CELLS_PER_SIDE * CELLS_PER_SIDE, k);
      return;
    }
    for (let row = row0; row <= row1; row++) {
      for (let column = column0; column <= column1; column++) this.#push(row * CELLS_PER_SIDE + column, k);
    }
  }

  #push(list: number, k: number): void {
    const entry = this.#entries++;
    if (entry === this.#entry.length) {
      this.#entry = grown(this.#entry, new Int32Array(2 * entry));
      this.#next = grown(this.#next, new Int32Array(2 * entry));
    }
    this.#entry[entry] = k;
    this.#next[entry] = this.#head[list] as number;
    this.#head[list] = entry;
  }

  #gridSuppresses(
    extent: Extent,
    classId: number,
    x1: number,
    y1: number,
    x2: number,
    y2: number,
    area: number,
  ): boolean {
    const column0 = cell(x1, extent.x, extent.cellWidth);
    const column1 = cell(x2, extent.x, extent.cellWidth);
    const row0 = cell(y1, extent.y, extent.cellHeight);
    const row1 = cell(y2, extent.y, extent.cellHeight);
    if (this.#listSuppresses(CELLS_PER_SIDE * CELLS_PER_SIDE, classId, x1, y1, x2, y2, area)) return true;
    for (let row = row0; row <= row1; row++) {
      for (let column = column0; column <= column1; column++) {
        if (this.#listSuppresses(row * CELLS_PER_SIDE + column, classId, x1, y1, x2, y2, area)) return true;
      }
    }
    return false;
  }

  #listSuppresses(
    list: number,
    classId: number,
    x1: number,
    y1: number,
    x2: number,
    y2: number,
    area: number,
  ): boolean {
    for (let entry = this.#head[list] as number; entry >= 0; entry = this.#next[entry] as number) {
      if (this.#suppresses(this.#entry[entry] as number, classId, x1, y1, x2, y2, area)) return true;
    }
    return false;
  }
}

/** The fp32 area, or 0 for a box that can neither suppress nor be suppressed. */
function areaOf(x1: number, y1: number, x2: number, y2: number): number {
  const width = Math.fround(x2 - x1);
  const height = Math.fround(y2 - y1);
  const area = Math.fround(width * height);
  return width > 0 && height > 0 && area < Infinity ? area : 0;
}

/** Rises with `value`, so two boxes that share a point share that point's cell. */
const cell = (value: number, origin: number, size: number): number =>
  Math.min(Math.floor((value - origin) / size), CELLS_PER_SIDE - 1);

function grown<T extends Float32Array | Float64Array | Int32Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
