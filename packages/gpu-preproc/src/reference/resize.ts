import { type Pixels, rgbRows } from './pixels.js';
import { roundHalfEven } from './rounding.js';

/** How pixels between pixels are made. */
export type Interpolation = 'linear' | 'nearest';

/** Takes one finished row: `3 · width` bytes of interleaved RGB from `offset` on. They are scratch: valid during the call. */
export type RowSink = (y: number, row: Uint8Array, offset: number) => void;

/** The weights' fixed-point unit, 2^11. */
const ONE = 2048;

interface Taps {
  /** Index of the first of two neighbouring samples, not clamped. */
  readonly index: Int32Array;
  /** Weights of the first and the second sample in units of 1/2048; they need not add up to 2048. */
  readonly first: Int32Array;
  readonly second: Int32Array;
}

/** Sample positions of OpenCV's `INTER_LINEAR`: half-pixel centres, the position rounded to fp32, no antialiasing. */
function linearTaps(source: number, target: number): Taps {
  const scale = 1 / (target / source);
  const index = new Int32Array(target);
  const first = new Int32Array(target);
  const second = new Int32Array(target);
  for (let i = 0; i < target; i++) {
    const position = Math.fround((i + 0.5) * scale - 0.5);
    const whole = Math.floor(position);
    const fraction = Math.fround(position - whole);
    index[i] = whole;
    first[i] = roundHalfEven(Math.fround(1 - fraction) * ONE);
    second[i] = roundHalfEven(fraction * ONE);
  }
  return { index, first, second };
}

/** Outside the picture a column takes the edge pixel alone. (Rows differ: they keep their fraction, see below.) */
function clampColumns(taps: Taps, source: number): void {
  for (let i = 0; i < taps.index.length; i++) {
    const at = taps.index[i] as number;
    if (at >= 0 && at < source - 1) continue;
    taps.index[i] = at < 0 ? 0 : source - 1;
    taps.first[i] = ONE;
    taps.second[i] = 0;
  }
}

const clampRow = (y: number, height: number): number => Math.min(Math.max(y, 0), height - 1);

/**
 * OpenCV's 8-bit `INTER_LINEAR`, byte for byte. Each output byte is made of four source bytes with integer weights:
 * horizontally `S = a0·p0 + a1·p1`, then vertically `((b0·(S0 >> 4)) >> 16) + ((b1·(S1 >> 4)) >> 16) + 2) >> 2`. The
 * weights are multiples of 1/2048 of the fp32 fraction, rounded half to even. At exactly half the size this is the
 * rounded mean of four pixels, for which OpenCV has code of its own with the same result.
 */
function linearRows(image: Pixels, width: number, height: number, sink: RowSink): void {
  const rows = rgbRows(image);
  const columns = linearTaps(image.width, width);
  clampColumns(columns, image.width);
  const lines = linearTaps(image.height, height);
  const count = 3 * width;
  const last = 3 * (image.width - 1);
  // Horizontal sums, already shifted by 4, of the last two source rows used: each is made once when shrinking.
  let upper = { y: -1, sums: new Int32Array(count) };
  let lower = { y: -1, sums: new Int32Array(count) };
  const fill = (line: { y: number; sums: Int32Array }, y: number): void => {
    rows.seek(y);
    horizontalSums(rows.data, rows.offset, last, columns, line.sums);
    line.y = y;
  };
  const out = new Uint8Array(count);
  for (let y = 0; y < height; y++) {
    const at = lines.index[y] as number;
    const y0 = clampRow(at, image.height);
    const y1 = clampRow(at + 1, image.height);
    if (lower.y === y0) [upper, lower] = [lower, upper];
    if (upper.y !== y0) fill(upper, y0);
    if (y1 !== y0 && lower.y !== y1) fill(lower, y1);
    blendRows(
      upper.sums,
      y1 === y0 ? upper.sums : lower.sums,
      lines.first[y] as number,
      lines.second[y] as number,
      out,
    );
    sink(y, out, 0);
  }
}

function horizontalSums(data: Uint8Array, offset: number, last: number, taps: Taps, sums: Int32Array): void {
  const { index, first, second } = taps;
  for (let x = 0, to = 0; x < index.length; x++, to += 3) {
    const column = 3 * (index[x] as number);
    const a = offset + column;
    // At the last column the second weight is 0; the read stays inside the row.
    const b = column < last ? a + 3 : a;
    const w0 = first[x] as number;
    const w1 = second[x] as number;
    sums[to] = ((data[a] as number) * w0 + (data[b] as number) * w1) >> 4;
    sums[to + 1] = ((data[a + 1] as number) * w0 + (data[b + 1] as number) * w1) >> 4;
    sums[to + 2] = ((data[a + 2] as number) * w0 + (data[b + 2] as number) * w1) >> 4;
  }
}

function blendRows(upper: Int32Array, lower: Int32Array, w0: number, w1: number, out: Uint8Array): void {
  for (let i = 0; i < out.length; i++) {
    out[i] = (((w0 * (upper[i] as number)) >> 16) + ((w1 * (lower[i] as number)) >> 16) + 2) >> 2;
  }
}

/** OpenCV's `INTER_NEAREST`: the source index is `floor(i · scale)`, at most the last. */
function nearestRows(image: Pixels, width: number, height: number, sink: RowSink): void {
  const rows = rgbRows(image);
  const positions = (source: number, target: number): Int32Array => {
    const scale = 1 / (target / source);
    return Int32Array.from({ length: target }, (_, i) => Math.min(Math.floor(i * scale), source - 1));
  };
  const columns = positions(image.width, width);
  const lines = positions(image.height, height);
  const out = new Uint8Array(3 * width);
  for (let y = 0; y < height; y++) {
    rows.seek(lines[y] as number);
    const { data, offset } = rows;
    for (let x = 0, to = 0; x < width; x++, to += 3) {
      const from = offset + 3 * (columns[x] as number);
      out[to] = data[from] as number;
      out[to + 1] = data[from + 1] as number;
      out[to + 2] = data[from + 2] as number;
    }
    sink(y, out, 0);
  }
}

/** Hands the picture, resized to `width × height` and as RGB, to `sink` row by row from the top. Equal size is a copy. */
export function resizeRows(
  image: Pixels,
  width: number,
  height: number,
  interpolation: Interpolation,
  sink: RowSink,
): void {
  if (width === image.width && height === image.height) {
    const rows = rgbRows(image);
    for (let y = 0; y < height; y++) {
      rows.seek(y);
      sink(y, rows.data, rows.offset);
    }
  } else if (interpolation === 'nearest') nearestRows(image, width, height, sink);
  else linearRows(image, width, height, sink);
}

/** The picture resized to `width × height` as dense RGB8: byte-equal to OpenCV's `resize` on x86. */
export function resize(image: Pixels, width: number, height: number, interpolation: Interpolation = 'linear'): Pixels {
  const data = new Uint8Array(3 * width * height);
  resizeRows(image, width, height, interpolation, (y, row, offset) => {
    data.set(row.subarray(offset, offset + 3 * width), 3 * width * y);
  });
  return { width, height, format: 'RGB8', pitch: 3 * width, data };
}
