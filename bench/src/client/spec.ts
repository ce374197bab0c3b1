import type { LoopOptions } from '../loop.js';
import type { Case } from './cases.js';

export interface Urls {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  /** `unix:/path:port`, where the server listens on a socket too. */
  readonly socketUrl?: string;
}

/** What a measuring process is told, as one JSON argument. */
export interface ClientSpec extends LoopOptions, Omit<Case, 'inFlight'>, Urls {}
