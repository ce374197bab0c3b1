import { PoolError } from './errors.js';
import { type Limits, within } from './settle.js';

/** What comes before a request of a slot. Given up from outside, the request is never sent. */
export class WaitToSend {
  #giveUp: ((reason: Error) => void) | undefined;

  /** Rejects when the work fails, when it takes longer than the limits allow, and when the wait is given up. */
  async for(work: Promise<void>, limits: Limits): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#giveUp = reject;
        within(work, limits).then(resolve, reject);
      });
      // Given up after the work was done, in the same turn.
      if (this.#giveUp === undefined) throw closedBeforeSending();
    } finally {
      this.#giveUp = undefined;
    }
  }

  /** @returns whether there was a wait */
  giveUp(): boolean {
    if (this.#giveUp === undefined) return false;
    this.#giveUp(closedBeforeSending());
    this.#giveUp = undefined;
    return true;
  }
}

export const closedBeforeSending = (): PoolError =>
  new PoolError(
    'ERR_POOL_CLOSED',
    'The pool was closed while work on the blocks was awaited: the request was not sent',
  );
