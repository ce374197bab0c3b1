import { areaRows } from './area.js';
import { linearDeepRows } from './deep.js';
import { cropOf, depthOf, type Pixels, type RgbRows, rgbRows, type Samples } from './pixels.js';
import { clampRow, type Positions, samplePositions } from './positions.js';
import { roundHalfEven } from './rounding.js';

/** How pixels between pixels are made. */
export type Interpolation = 'linear' | 'area' | 'nearest';

/** Takes one finished row: `3 · width` samples of interleaved RGB from `offset` on. They are scratch: valid during the call. */
export type RowSink = (y: number, row: Samples, offset: number) => void;

/** What a resize makes: the size of the whole result, and which of its rows, from `first` to before `end`. */
export interface ResizeJob {
  readonly width: number;
  readonly height: number;
  readonly first: number;
  readonly end: number;
}

/** The weights' fixed-point unit, 2^11. */
const ONE = 2048;

interface Taps {
  /** Index of the first of two neighbouring samples, not clamped. */
  readonly index: Int32Array;
  /** Weights of the first and the second sample in units of 1/2048; they need not add up to 2048. */
  readonly first: Int32Array;
  readonly second: Int32Array;
}

function taps({ index, fraction }: Positions): Taps {
  return {
    index,
    first: Int32Array.from(fraction, (value) => roundHalfEven(Math.fround(1 - value) * ONE)),
    second: Int32Array.from(fraction, (value) => roundHalfEven(value * ONE)),
  };
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

/**
 * OpenCV's 8-bit `INTER_LINEAR`, byte for byte. Each output byte is made of four source bytes with integer weights:
 * horizontally `S = a0·p0 + a1·p1`, then vertically `((b0·(S0 >> 4)) >> 16) + ((b1·(S1 >> 4)) >> 16) + 2) >> 2`. The
 * weights are multiples of 1/2048 of the fp32 fraction, rounded half to even. At exactly half the size this is the
 * rounded mean of four pixels, for which OpenCV has code of its own with the same result.
 */
function linearRows(rows: RgbRows<Uint8Array>, job: ResizeJob, area: boolean, sink: RowSink): void {
  const { width, height } = job;
  const columns = taps(samplePositions(rows.width, width, area));
  clampColumns(columns, rows.width);
  const lines = taps(samplePositions(rows.height, height, area));
  const count = 3 * width;
  // The last pixel of a row as an offset from its first.
  const last = 3 * (rows.width - 1);
  // Horizontal sums, already shifted by 4, of the last two source rows used: each is made once when shrinking.
  let upper = { y: -1, sums: new Int32Array(count) };
  let lower = { y: -1, sums: new Int32Array(count) };
  const fill = (line: { y: number; sums: Int32Array }, y: number): void => {
    rows.seek(y);
    horizontalSums(rows.data, rows.offset, last, columns, line.sums);
    line.y = y;
  };
  const out = new Uint8Array(count);
  for (let y = job.first; y < job.end; y++) {
    const at = lines.index[y] as number;
    const y0 = clampRow(at, rows.height);
    const y1 = clampRow(at + 1, rows.height);
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
function nearestRows(rows: RgbRows, job: ResizeJob, sink: RowSink): void {
  const positions = (source: number, target: number): Int32Array => {
    const scale = 1 / (target / source);
    return Int32Array.from({ length: target }, (_, i) => Math.min(Math.floor(i * scale), source - 1));
  };
  const columns = positions(rows.width, job.width);
  const lines = positions(rows.height, job.height);
  const out = rows.data instanceof Uint16Array ? new Uint16Array(3 * job.width) : new Uint8Array(3 * job.width);
  for (let y = job.first; y < job.end; y++) {
    rows.seek(lines[y] as number);
    const { data, offset } = rows;
    for (let x = 0, to = 0; x < job.width; x++, to += 3) {
      const from = offset + 3 * (columns[x] as number);
      out[to] = data[from] as number;
      out[to + 1] = data[from + 1] as number;
      out[to + 2] = data[from + 2] as number;
    }
    sink(y, out, 0);
  }
}

const isDeep = (rows: RgbRows): rows is RgbRows<Uint16Array> => rows.data instanceof Uint16Array;

/** Hands the picture, resized and as RGB, to `sink` row by row, the job's rows only. Equal size is a copy. */
export function resizeRows(rows: RgbRows, job: ResizeJob, interpolation: Interpolation, sink: RowSink): void {
  const { width, height } = job;
  if (width === rows.width && height === rows.height) {
    for (let y = job.first; y < job.end; y++) {
      rows.seek(y);
      sink(y, rows.data, rows.offset);
    }
    return;
  }
  const area = interpolation === 'area';
  if (interpolation === 'nearest') nearestRows(rows, job, sink);
  else if (area && width <= rows.width && height <= rows.height) areaRows(rows, job, sink);
  else if (isDeep(rows)) linearDeepRows(rows, job, area, sink);
  else linearRows(rows as RgbRows<Uint8Array>, job, area, sink);
}

/**
 * The picture, or its crop, resized to `width × height` as dense RGB8, byte-equal to OpenCV's `resize` on x86; of deeper
 * formats as RGB16, within one of 65,535 levels of it.
 */
export function resize(image: Pixels, width: number, height: number, interpolation: Interpolation = 'linear'): Pixels {
  const count = 3 * width;
  const deep = depthOf(image) > 255;
  const samples = deep ? new Uint16Array(count * height) : new Uint8Array(count * height);
  const job = { width, height, first: 0, end: height };
  resizeRows(rgbRows(image, cropOf(image)), job, interpolation, (y, row, offset) => {
    samples.set(row.subarray(offset, offset + count), count * y);
  });
  const data = new Uint8Array(samples.buffer, 0, samples.byteLength);
  return { width, height, format: deep ? 'RGB16' : 'RGB8', pitch: count * samples.BYTES_PER_ELEMENT, data };
}
