import type { Transport } from './transport.js';

/** One object that was found. The box is `[x1, y1, x2, y2]` in pixels of the original picture. */
export interface ReportedDetection {
  readonly label: string;
  readonly classId: number;
  /** 0 to 1. */
  readonly score: number;
  readonly box: readonly [number, number, number, number];
}

/** Milliseconds. `total` runs from the first byte decoded to the last box; it does not include the annotated picture. */
export interface Timings {
  readonly decode: number;
  readonly preprocess: number;
  readonly infer: number;
  readonly postprocess: number;
  readonly total: number;
}

/** What `detect --json` writes for one picture. */
export interface DetectResult {
  readonly transport: Exclude<Transport, 'auto'>;
  /** Why this transport: one sentence. */
  readonly reason: string;
  readonly server: { readonly name: string; readonly version: string };
  readonly model: string;
  readonly image: { readonly path: string; readonly width: number; readonly height: number };
  readonly detections: readonly ReportedDetection[];
  /** There when more objects were found than are listed. */
  readonly truncated?: true;
  readonly timings: Timings;
  /** The annotated picture, when `--out` was given. */
  readonly annotated?: string;
}

/** A picture that gave no result. */
export interface DetectFailure {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

/** What `detect --json` writes. `failures` is there only when a picture failed. */
export interface DetectReport {
  readonly results: readonly DetectResult[];
  readonly failures?: readonly DetectFailure[];
}

/** `value` with at most `digits` decimals: more say nothing about a pixel or a millisecond. */
export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
