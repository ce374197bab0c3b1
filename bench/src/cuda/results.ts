/** The shape of a results file of `cuda.js`. */
import type { Machine } from '../machine.js';
import type { CallDelay } from './delays.js';
import type { MeasuredFigure } from './figures.js';
import type { ImportTime } from './import-time.js';
import type { LoopDelay } from './loop-delay.js';

export interface CudaResults {
  readonly kind: 'cuda';
  readonly date: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly node: string;
  readonly driver: { readonly version: number; readonly device: string };
  readonly parameters: { readonly rounds: number; readonly work: number };
  readonly figures: readonly MeasuredFigure[];
  readonly import?: ImportTime;
  readonly loop?: LoopDelay & { readonly limitMs: number; readonly met: boolean };
  readonly delays?: readonly CallDelay[];
}
