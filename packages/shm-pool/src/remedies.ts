/** What makes a request worth repeating that the server refused. */
import type { InferOptions } from './infer-options.js';
import { outputTooLarge, type PoolPlan } from './pool-plan.js';
import { missingRegion, tooSmallOutput } from './server-texts.js';
import type { SlotPlace } from './slot-place.js';

/** How far a request has come. */
export interface Attempt {
  /** How often the model has run when this attempt is answered. */
  readonly runs: number;
  readonly mayRestore: boolean;
}

export const FIRST_ATTEMPT: Attempt = { runs: 1, mayRestore: true };

export interface Remedy {
  /** Only when nothing uses the slot's memory. */
  apply(): Promise<void>;
  readonly next: Attempt;
}

export class Remedies {
  readonly #plan: PoolPlan;
  readonly #place: SlotPlace;
  readonly #onMissing: () => void;

  /** `onMissing`: the server no longer knows the slot's region. */
  constructor(plan: PoolPlan, place: SlotPlace, onMissing: () => void) {
    this.#plan = plan;
    this.#place = place;
    this.#onMissing = onMissing;
  }

  /**
   * Undefined when there is none.
   * @throws PoolError ERR_OUTPUT_TOO_LARGE when the error is about an output that may not grow
   */
  for(error: unknown, attempt: Attempt, options: InferOptions | undefined): Remedy | undefined {
    return this.#restoring(error, attempt) ?? this.#growing(error, attempt, options);
  }

  /** The request had not run. */
  #restoring(error: unknown, attempt: Attempt): Remedy | undefined {
    const missing = missingRegion(error);
    if (!attempt.mayRestore || missing === undefined || missing !== this.#place.memory.region?.name) return undefined;
    this.#onMissing();
    return { apply: () => this.#place.restore(), next: { ...attempt, mayRestore: false } };
  }

  /** The model has run, and whatever it wrote into outputs before the one that was too small is worth nothing. */
  #growing(error: unknown, attempt: Attempt, options: InferOptions | undefined): Remedy | undefined {
    const found = tooSmallOutput(error);
    if (found === undefined) return undefined;
    const need = { ...found, cause: error };
    const own = this.#place.memory.plan.outputs.find(({ name }) => name === need.output);
    // The server names one output at a time, the first that is too small.
    if (attempt.runs > this.#place.request.outputs.length) {
      throw outputTooLarge(need.output, need.byteLength, own, error);
    }
    // A server that wants no more than it was given.
    if (own !== undefined && need.byteLength <= own.byteLength) return undefined;
    const mayRunAgain = options?.sequence === undefined;
    // Refused now, if at all.
    this.#plan.planFor(need, mayRunAgain);
    return {
      apply: async () => {
        await this.#place.grow(this.#plan.planFor(need, mayRunAgain));
        this.#plan.warnOfSecondRun(need);
      },
      next: { ...attempt, runs: attempt.runs + 1 },
    };
  }
}
