import type { LoopOptions } from './loop.js';
import type { Transport, Work } from './tables.js';

/** What a measuring process is told, as one JSON argument. */
export interface MeasureSpec extends LoopOptions {
  readonly client: 'pool' | 'unary';
  readonly grpcUrl: string;
  readonly model: string;
  readonly transport: Transport;
  readonly work: Work;
  readonly inputShape: readonly number[];
  readonly inputByteLength: number;
  readonly outputByteLength: number;
}
