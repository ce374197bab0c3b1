import type { RgbRows } from './pixels.js';
import type { ResizeJob, RowSink } from './resize.js';
import { roundHalfEven } from './rounding.js';

/** For target sample `i`: the source samples from `start[i]` on, weighted by `weights[from[i]]` to before `from[i + 1]`. */
interface Cells {
  readonly start: Int32Array;
  readonly from: Int32Array;
  readonly weights: Float32Array;
}

/** Shares below this of a source sample are left out, as OpenCV does. */
const SMALLEST_SHARE = 1e-3;

/** Target sample `i` covers the source from `i · scale` to `(i + 1) · scale`: each source sample weighs what it covers. */
function cells(source: number, target: number): Cells {
  const scale = 1 / (target / source);
  const start = new Int32Array(target);
  const from = new Int32Array(target + 1);
  const weights: number[] = [];
  for (let i = 0; i < target; i++) {
    const low = i * scale;
    const high = low + scale;
    const covered = Math.min(scale, source - low);
    const end = Math.min(Math.floor(high), source - 1);
    const first = Math.min(Math.ceil(low), end);
    const partial = first - low > SMALLEST_SHARE;
    start[i] = partial ? first - 1 : first;
    if (partial) weights.push((first - low) / covered);
    for (let at = first; at < end; at++) weights.push(1 / covered);
    if (high - end > SMALLEST_SHARE) weights.push(Math.min(high - end, 1, covered) / covered);
    from[i + 1] = weights.length;
  }
  return { start, from, weights: Float32Array.from(weights) };
}

/**
 * OpenCV's `INTER_AREA` where no side grows: the mean of what a target pixel covers, in fp32, rounded half to even. A
 * whole number of pixels is summed exactly; of exactly 2x2 pixels halves are rounded up, as OpenCV does.
 */
export function areaRows(rows: RgbRows, job: ResizeJob, sink: RowSink): void {
  const { width, height } = job;
  const whole = rows.width % width === 0 && rows.height % height === 0;
  const columns = cells(rows.width, width);
  const lines = cells(rows.height, height);
  // Weights of 1 keep the sums of a whole number of pixels exact.
  if (whole) for (const { weights } of [columns, lines]) weights.fill(1);
  const pixels = (rows.width / width) * (rows.height / height);
  const two = rows.width === 2 * width && rows.height === 2 * height;
  const share = Math.fround(1 / pixels);
  const line = new Float32Array(3 * width);
  const sums = new Float32Array(3 * width);
  const deep = rows.data instanceof Uint16Array;
  const out = deep ? new Uint16Array(3 * width) : new Uint8Array(3 * width);
  // The rounded weights of a cell may add up to more than 1.
  const max = deep ? 65535 : 255;
  for (let y = job.first; y < job.end; y++) {
    sums.fill(0);
    const first = lines.from[y] as number;
    const end = lines.from[y + 1] as number;
    for (let i = first; i < end; i++) {
      rows.seek((lines.start[y] as number) + i - first);
      sumColumns(rows, columns, line);
      addWeighted(sums, line, lines.weights[i] as number);
    }
    for (let i = 0; i < out.length; i++) {
      const sum = sums[i] as number;
      out[i] = two ? (sum + 2) >> 2 : Math.min(roundHalfEven(whole ? Math.fround(sum * share) : sum), max);
    }
    sink(y, out, 0);
  }
}

function sumColumns({ data, offset }: RgbRows, { start, from, weights }: Cells, line: Float32Array): void {
  for (let x = 0; x < start.length; x++) {
    const end = from[x + 1] as number;
    let [red, green, blue] = [0, 0, 0];
    for (let i = from[x] as number, at = offset + 3 * (start[x] as number); i < end; i++, at += 3) {
      const weight = weights[i] as number;
      red = Math.fround(red + Math.fround((data[at] as number) * weight));
      green = Math.fround(green + Math.fround((data[at + 1] as number) * weight));
      blue = Math.fround(blue + Math.fround((data[at + 2] as number) * weight));
    }
    line[3 * x] = red;
    line[3 * x + 1] = green;
    line[3 * x + 2] = blue;
  }
}

function addWeighted(sums: Float32Array, line: Float32Array, weight: number): void {
  for (let i = 0; i < sums.length; i++) {
    sums[i] = (sums[i] as number) + Math.fround((line[i] as number) * weight);
  }
}
