/** Registered shared-memory slots for Triton, lent as leases. */
export type { BlockHandle } from '@zerohop/cuda-native/tensor';
export type { TransportChoice } from './auto-choice.js';
export type {
  ClientCall,
  ClientCallOptions,
  ClientModelConfig,
  ClientOutput,
  ClientRegionRef,
  ClientRequest,
  ClientResult,
  ClientSequence,
  ClientTensorMetadata,
  RegionClient,
  Settlement,
  TensorClient,
} from './client.js';
export type { TakeOptions as AcquireOptions } from './dispenser.js';
export { PoolError, type PoolErrorCode } from './errors.js';
export type { PathExplanation, RemainingCopy } from './explain.js';
export type { InferOptions } from './infer-options.js';
export type { OutputHints, Shapes } from './layout.js';
export type { Lease } from './lease.js';
export { type OpenedBlock, openBlock } from './open-block.js';
export type { PoolOptions } from './options.js';
export { type PoolStats, TensorPool } from './pool.js';
export type { CloseReport, PoolEvents } from './pool-events.js';
export { type ReapReport, reap } from './reap.js';
export { removeEntries } from './remove-entries.js';
export type { Reply } from './reply.js';
export type { Retirement } from './retirements.js';
export {
  type AdoptRegionOptions,
  type AllocateRegionOptions,
  type RegionRelease,
  SharedRegion,
} from './shared-region.js';
export { installShutdown, type ShutdownOptions } from './shutdown.js';
export type { Transport } from './slot-memory.js';
export type { WarningCode } from './warnings.js';
