/** Where each target sample lies between two neighbouring source samples. */
export interface Positions {
  /** Index of the first of the two, not clamped. */
  readonly index: Int32Array;
  /** Distance from the first, in fp32. */
  readonly fraction: Float32Array;
}

/**
 * Sample positions of OpenCV's `INTER_LINEAR`: half-pixel centres, the position rounded to fp32, no antialiasing. With
 * `area`, those that `INTER_AREA` uses where a side grows: a target sample that lies within one source sample takes
 * that sample alone, and one across an edge takes of each as much as it covers.
 */
export function samplePositions(source: number, target: number, area: boolean): Positions {
  const ratio = target / source;
  const scale = 1 / ratio;
  const index = new Int32Array(target);
  const fraction = new Float32Array(target);
  for (let i = 0; i < target; i++) {
    const position = area ? i * scale : Math.fround((i + 0.5) * scale - 0.5);
    const whole = Math.floor(position);
    index[i] = whole;
    if (area) {
      const covered = Math.fround(i + 1 - (whole + 1) * ratio);
      fraction[i] = covered <= 0 ? 0 : covered - Math.floor(covered);
    } else fraction[i] = position - whole;
  }
  return { index, fraction };
}

export const clampRow = (y: number, height: number): number => Math.min(Math.max(y, 0), height - 1);
