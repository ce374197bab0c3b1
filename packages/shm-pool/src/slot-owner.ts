/** Who keeps the slots, and what they tell it. */
import type { Release, SharedRegion } from './region.js';
import type { Slot } from './slot.js';

/** `'detached'`: the server may still be at the lost lease's request. `'quarantined'`: the second proof is under way. */
export type SlotState = 'idle' | 'leased' | 'detached' | 'quarantined';

/** The pool, as its slots see it. */
export interface SlotOwner {
  /** Nothing uses the slot any more. */
  slotFree(slot: Slot): void;
  /** The connection ended without an answer: the slot's region needs the second proof. */
  slotLost(slot: Slot): void;
  /** The device failed under the slot's stream: its memory can't be used again. */
  slotFailed(slot: Slot, cause: unknown): void;
  /** The server does not know the slot's region: others may be missing too. */
  regionMissing(slot: Slot): void;
  /** A region without an unanswered request was released, or could not be. */
  regionReleased(region: SharedRegion, release: Release): void;
}
