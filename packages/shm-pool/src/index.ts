/** Registered shared-memory slots for Triton, lent as leases. */
export type {
  ClientCall,
  ClientCallOptions,
  ClientOutput,
  ClientRegionRef,
  ClientRequest,
  ClientResult,
  ClientTensorMetadata,
  RegionClient,
  Settlement,
  TensorClient,
} from './client.js';
export type { TakeOptions as AcquireOptions } from './dispenser.js';
export { PoolError, type PoolErrorCode } from './errors.js';
export type { OutputHints, Shapes } from './layout.js';
export type { Lease } from './lease.js';
export type { PoolOptions } from './options.js';
export { type PoolStats, TensorPool } from './pool.js';
export { type ReapReport, reap } from './reap.js';
export type { Reply } from './reply.js';
export { installShutdown, type ShutdownOptions } from './shutdown.js';
export type { CloseReport, PoolEvents } from './slot-keeper.js';
export type { Transport } from './slot-memory.js';
export type { InferOptions } from './slot-request.js';
export type { WarningCode } from './warnings.js';
