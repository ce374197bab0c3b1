/** Who keeps the slots, and what they tell it. */
import type { RegisteredRegion } from './region.js';
import type { Slot } from './slot.js';

/** `'detached'`: the server may still be at the lost lease's request. `'quarantined'`: the second proof is under way. */
export type SlotState = 'idle' | 'leased' | 'detached' | 'quarantined';

/** The pool, as its slots see it. */
export interface SlotOwner {
  /** Aborted when nobody waits for the server any longer. */
  readonly lastCall: AbortSignal;
  /** Nothing uses the slot any more. */
  slotFree(slot: Slot): void;
  /** The connection ended without an answer: the slot's region needs the second proof. */
  slotLost(slot: Slot): void;
  /** The slot's memory can't be used again, though no request is unanswered: `why` says so. */
  slotFailed(slot: Slot, why: string): void;
  /** The server does not know the slot's region: others may be missing too. */
  regionMissing(slot: Slot): void;
  /** The slot's tensors are being moved to other memory: a close waits for it, however it ends. */
  moving(work: Promise<void>): void;
  /** Releases a region without an unanswered request that is not the slot's any more. Never rejects. */
  releaseRegion(region: RegisteredRegion): Promise<void>;
}
