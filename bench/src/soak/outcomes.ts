import { DisposedError, type InferCall, TritonError } from '@zerohop/triton-client';

/** How calls ended: by `answer`, by a code, or in a way that no call may end. */
export class Outcomes {
  readonly counts: Record<string, number> = {};
  readonly settlements: Record<string, number> = {};
  /** What must not be: errors without a code of the client's. */
  readonly untyped: string[] = [];
  /** Calls whose promise or `settled` has not come. */
  open = 0;

  /** Counts a call once both its promises have come, and says how it ended: `answer`, `aborted`, a code. Never rejects. */
  async watch(call: InferCall, aborted?: unknown): Promise<string> {
    this.open += 1;
    let outcome = 'answer';
    try {
      await call;
    } catch (error) {
      if (error === aborted) outcome = 'aborted';
      else if (error instanceof TritonError || error instanceof DisposedError) outcome = error.code;
      else outcome = 'untyped';
      if (outcome === 'untyped' && this.untyped.push(String(error)) > 10) this.untyped.pop();
    }
    this.#count(outcome);
    const settlement = await call.settled;
    this.settlements[settlement] = (this.settlements[settlement] ?? 0) + 1;
    this.open -= 1;
    return outcome;
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }
}
