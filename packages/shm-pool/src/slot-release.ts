/** Gives back the region of a slot: freed when the server is proven to be done with it, else given up and reported. */
import { messageOf } from './errors.js';
import { closeStream } from './memory-release.js';
import type { RegisteredRegion, Release } from './region.js';
import type { Unproven } from './region-counters.js';
import type { Retirements } from './retirements.js';
import { within } from './settle.js';
import type { Slot } from './slot.js';

export class SlotRelease {
  /** Regions that the server was not proven to be done with. */
  readonly unproven: Unproven[] = [];
  readonly #retirements: Retirements;

  constructor(retirements: Retirements) {
    this.#retirements = retirements;
  }

  /** Of a slot without an unanswered request, once the work on its blocks is over. */
  async release(slot: Slot, signal: AbortSignal): Promise<void> {
    if (slot.memory.region === undefined) return;
    try {
      await within(slot.quiet(), { signal });
    } catch (error) {
      this.retire(slot.memory.region, workGoesOn(error, signal));
      return closeStream(slot, signal);
    }
    // Not the region of before: part of that work may have been to replace it.
    const { region } = slot.memory;
    const release = await region.release(signal);
    this.released(region, release);
    await closeStream(slot, signal);
  }

  /** Of a slot whose request was not answered. Its stream stays. */
  async proveAndFree(slot: Slot, region: RegisteredRegion, signal: AbortSignal): Promise<void> {
    const proof = await region.proveReleased(signal);
    try {
      await within(slot.quiet(), { signal });
    } catch (error) {
      // A stream that failed has ended its work as well.
      if (signal.aborted) {
        // The time was over with the proof: nothing was waited for here.
        this.retire(region, proof.proven ? workGoesOn(error, signal) : proof.reason);
        return;
      }
    }
    if (proof.proven) {
      const outcome = await region.free();
      if (!outcome.proven) this.retire(region, outcome.reason);
      return;
    }
    // An object in /dev/shm goes when the last who maps it lets go: a server that still writes does so in its own mapping,
    // which a fresh object shares nothing with. Device memory is gone for everybody when it is freed here.
    const mayGo = proof.forgotten === true && region.kind === 'system';
    const freed = mayGo && (await region.free()).proven;
    this.retire(region, proof.reason, freed);
  }

  /** A region without an unanswered request was released, or could not be. */
  released(region: RegisteredRegion, release: Release): void {
    if (release.proven) return;
    if (release.freed) this.unproven.push({ region: region.name, reason: release.reason });
    else this.retire(region, release.reason);
  }

  /** Gives a region up; its memory is kept for good unless it was `freed` here. */
  retire(region: RegisteredRegion, reason: string, freed = false): void {
    this.unproven.push({ region: region.name, reason });
    this.#retirements.add(region, reason, freed);
  }
}

const workGoesOn = (error: unknown, { aborted }: AbortSignal) =>
  `work on its blocks did not end${aborted ? ' in time' : `: ${messageOf(error)}`}`;
