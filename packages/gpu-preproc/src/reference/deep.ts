import type { RgbRows } from './pixels.js';
import { clampRow, samplePositions } from './positions.js';
import type { ResizeJob, RowSink } from './resize.js';
import { roundHalfEven } from './rounding.js';

const { fround } = Math;

/**
 * Linear interpolation of 16-bit samples: fp32 weights, columns first, each step rounded to fp32, the result rounded
 * half to even. OpenCV's order of operations differs by the processor, so it may differ by one of 65,535 levels.
 */
export function linearDeepRows(rows: RgbRows<Uint16Array>, job: ResizeJob, area: boolean, sink: RowSink): void {
  const count = 3 * job.width;
  const columns = samplePositions(rows.width, job.width, area);
  const lines = samplePositions(rows.height, job.height, area);
  let upper = { y: -1, values: new Float32Array(count) };
  let lower = { y: -1, values: new Float32Array(count) };
  const fill = (line: { y: number; values: Float32Array }, y: number): void => {
    rows.seek(y);
    mixColumns(rows, columns.index, columns.fraction, line.values);
    line.y = y;
  };
  const out = new Uint16Array(count);
  for (let y = job.first; y < job.end; y++) {
    const at = lines.index[y] as number;
    const [y0, y1] = [clampRow(at, rows.height), clampRow(at + 1, rows.height)];
    if (lower.y === y0) [upper, lower] = [lower, upper];
    if (upper.y !== y0) fill(upper, y0);
    if (y1 !== y0 && lower.y !== y1) fill(lower, y1);
    const second = lines.fraction[y] as number;
    mixRows(upper.values, y1 === y0 ? upper.values : lower.values, second, out);
    sink(y, out, 0);
  }
}

function mixColumns(
  { data, offset, width }: RgbRows<Uint16Array>,
  index: Int32Array,
  fraction: Float32Array,
  values: Float32Array,
): void {
  for (let x = 0; x < index.length; x++) {
    const column = index[x] as number;
    // Outside the picture a column takes the edge pixel alone.
    const outside = column < 0 || column >= width - 1;
    const a = offset + 3 * (column < 0 ? 0 : outside ? width - 1 : column);
    const b = outside ? a : a + 3;
    const second = outside ? 0 : (fraction[x] as number);
    const first = fround(1 - second);
    for (let c = 0; c < 3; c++) {
      values[3 * x + c] = fround((data[a + c] as number) * first) + fround((data[b + c] as number) * second);
    }
  }
}

function mixRows(upper: Float32Array, lower: Float32Array, second: number, out: Uint16Array): void {
  const first = fround(1 - second);
  for (let i = 0; i < out.length; i++) {
    const value = fround(fround((upper[i] as number) * first) + fround((lower[i] as number) * second));
    out[i] = Math.min(roundHalfEven(value), 65535);
  }
}
