/** The plan that all slots of a pool share, and how it grows. */
import { PoolError } from './errors.js';
import { type SlotPlan, type TensorPlan, withCapacities } from './layout.js';
import { warn } from './warnings.js';

/** An output, and the bytes that it would have needed. */
export interface Need {
  readonly output: string;
  readonly byteLength: number;
  /** The server's error that says so. */
  readonly cause: unknown;
}

/**
 * What the next slot memory of a pool is laid out by. A slot whose own memory follows an older plan takes memory by
 * this one before its next request, so that one second run of the model is enough for all slots.
 */
export class PoolPlan {
  readonly #pool: string;
  readonly #hasState: boolean;
  readonly #warned = new Set<string>();
  #current: SlotPlan;

  /** `hasState`: a second run of the model would count as the next step of its sequence. */
  constructor({
    pool,
    plan,
    hasState,
  }: { readonly pool: string; readonly plan: SlotPlan; readonly hasState: boolean }) {
    this.#pool = pool;
    this.#current = plan;
    this.#hasState = hasState;
  }

  get current(): SlotPlan {
    return this.#current;
  }

  /**
   * The plan with room for an output that turned out larger: at least twice its present one, so that sizes that creep up
   * cost few steps. The pool's plan stays as it is until memory of that size was had (`adopt`).
   * @throws PoolError ERR_OUTPUT_TOO_LARGE when the output may not become so large, or the model not run again
   */
  planFor({ output, byteLength, cause }: Need, mayRunAgain: boolean): SlotPlan {
    const tensor = this.#current.outputs.find((each) => each.name === output);
    if (tensor === undefined || byteLength > tensor.maxByteLength) {
      throw outputTooLarge(output, byteLength, tensor, cause);
    }
    if (!mayRunAgain || this.#hasState) throw outputTooLarge(output, byteLength, tensor, cause, STEPS_ONCE);
    // Another slot's answer may have made room already.
    if (byteLength <= tensor.byteLength) return this.#current;
    const roomier = Math.min(Math.max(byteLength, 2 * tensor.byteLength), tensor.maxByteLength);
    return withCapacities(this.#current, new Map([[output, roomier]]));
  }

  /** Makes the larger of both capacities of each output the pool's. */
  adopt(plan: SlotPlan): void {
    const { current } = this;
    const larger = plan.outputs.filter(({ byteLength }, index) => byteLength > byteLengthAt(current, index));
    if (larger.length === 0) return;
    const isBehind = fallsBehind(plan, current);
    const capacities = new Map(larger.map(({ name, byteLength }) => [name, byteLength]));
    this.#current = isBehind ? withCapacities(current, capacities) : plan;
  }

  /** Warns, once for each output, that the model had to run again. */
  warnOfSecondRun({ output, byteLength }: Need): void {
    if (this.#warned.has(output)) return;
    this.#warned.add(output);
    warn(
      'ZEROHOP_OUTPUT_GREW',
      `Pool '${this.#pool}': output '${output}' of model '${this.#current.model}' needs ${byteLength} bytes, more than ` +
        `its block held, so that the model ran twice for one request. Open the pool with ${hintFor(output, byteLength)} to avoid it`,
    );
  }
}

/** Whether an output has less room by this plan than by the other. */
export const fallsBehind = (plan: SlotPlan, other: SlotPlan): boolean =>
  plan !== other && other.outputs.some(({ byteLength }, index) => byteLength > byteLengthAt(plan, index));

const byteLengthAt = (plan: SlotPlan, index: number) => plan.outputs[index]?.byteLength ?? 0;

const hintFor = (output: string, byteLength: number) => `outputs: { '${output}': { byteLength: ${byteLength} } }`;

const STEPS_ONCE = ' (the request was not repeated, since a second run would be the next step of its sequence)';

/** The model produced more than its block holds, or than was allowed; the model did run. */
export function outputTooLarge(
  name: string,
  needed: number,
  plan: TensorPlan | undefined,
  cause?: unknown,
  remark = '',
): PoolError {
  return new PoolError(
    'ERR_OUTPUT_TOO_LARGE',
    `Output '${name}' needs ${needed} bytes${roomOf(needed, plan)}${remark}: open the pool with ${hintFor(name, needed)}`,
    cause === undefined ? undefined : { cause },
  );
}

function roomOf(needed: number, plan: TensorPlan | undefined): string {
  if (plan === undefined) return '';
  return needed > plan.maxByteLength && plan.maxByteLength > plan.byteLength
    ? `, more than maxOutputBytes ${plan.maxByteLength}`
    : ` and its block holds ${plan.byteLength}`;
}
