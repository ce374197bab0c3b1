/** What `'auto'` would choose now, for a pool that is open already: it never changes by itself, and says so. */
import { discard } from './memory-release.js';
import { PoolPlan } from './pool-plan.js';
import { RegionCounters } from './region-counters.js';
import type { Transport } from './slot-memory.js';
import { AUTO, type ChoiceOptions, createAll, firstThatOpens, openFactory, reasonOf, verified } from './transports.js';

export interface TransportChoice {
  readonly transport: Transport;
  /** One sentence, as `pool.reason`. */
  readonly reason: string;
}

/** The slot that proves the transport in use once more: its memory need not be had a second time. */
const SMALL = { inputs: [], outputs: [], inputByteLength: 0, byteLength: 4096 };

/**
 * As an opening with `'auto'`, with one slot that is released again.
 * @throws the client's error when the server cannot be reached; `signal.reason`
 */
async function chooseAgain(inUse: Transport, asOpened: ChoiceOptions): Promise<TransportChoice> {
  const counters = new RegionCounters(asOpened.counters.lost);
  const { opened, failed } = await firstThatOpens(AUTO, asOpened.signal, async (transport) => {
    const proven = transport === inUse;
    const options = {
      ...asOpened,
      counters,
      ...(proven
        ? {
            plan: new PoolPlan({ pool: '', plan: { ...asOpened.plan.current, ...SMALL }, hasState: true }),
            verify: false,
          }
        : {}),
    };
    const factory = await openFactory(transport, { ...options, auto: true });
    const memories = await createAll(factory, 1, options.signal);
    const verification = await verified(factory, memories, options);
    await Promise.all(memories.map(discard));
    return { factory, verification };
  });
  return { transport: opened.factory.transport, reason: reasonOf(opened.factory, opened.verification, failed) };
}

/** Asks at most once at a time, remembers the last answer, and tells when it is not the transport in use. */
export class AutoChoice {
  readonly #inUse: Transport;
  readonly #options: ChoiceOptions;
  readonly #announce: (choice: TransportChoice) => void;
  readonly #end = new AbortController();
  #last: Transport;
  #flight: Promise<TransportChoice> | undefined;

  constructor(inUse: Transport, options: ChoiceOptions, announce: (choice: TransportChoice) => void) {
    this.#inUse = inUse;
    this.#options = { ...options, signal: this.#end.signal };
    this.#announce = announce;
    this.#last = inUse;
  }

  /** What the last answer was; until then the transport in use. */
  get last(): Transport {
    return this.#last;
  }

  ask(): Promise<TransportChoice> {
    this.#flight ??= this.#choose().finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  async #choose(): Promise<TransportChoice> {
    const choice = await chooseAgain(this.#inUse, this.#options);
    const changed = choice.transport !== this.#last;
    this.#last = choice.transport;
    if (changed) this.#announce(choice);
    return choice;
  }

  /** As `ask()`, where nobody waits for the answer: a server that is away will be asked with the next restart. */
  askQuietly(): void {
    if (this.#end.signal.aborted) return;
    void this.ask().catch(() => undefined);
  }

  /** Ends a question under way; resolves when its slot is released. */
  async close(reason: Error): Promise<void> {
    this.#end.abort(reason);
    await this.#flight?.catch(() => undefined);
  }
}
