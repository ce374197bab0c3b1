import type { Carrier } from './carrier.js';
import type { Connection } from './connection.js';
import { IdleLanes } from './idle-lanes.js';
import { Lane, type LaneEvents } from './lane.js';

export interface LaneStats {
  /** Idle and busy lanes, and unary calls; bounded by the `lanes` option. */
  readonly open: number;
  readonly idle: number;
  readonly busy: number;
  /** Lanes and unary calls that wait for the answer to a request that its caller gave up; bounded by `maxDetached`. */
  readonly detached: number;
}

/** Every lane and unary call that has not ended yet, counted by what it does. */
export class Carriers {
  readonly idle: IdleLanes;
  readonly #all = new Set<Carrier>();
  readonly #limit: number;
  #lanesOpened = 0;
  #busy = 0;
  #detached = 0;

  /** @param limit - the most that are idle or busy */
  constructor(limit: number, idleLaneMs: number) {
    this.#limit = limit;
    this.idle = new IdleLanes(idleLaneMs);
  }

  /** Those that have not ended, also such as are counted no more. */
  get size(): number {
    return this.#all.size;
  }

  /** Lanes so far. */
  get lanesOpened(): number {
    return this.#lanesOpened;
  }

  get detached(): number {
    return this.#detached;
  }

  get stats(): LaneStats {
    const { size: idle } = this.idle;
    return { open: idle + this.#busy, idle, busy: this.#busy, detached: this.#detached };
  }

  /** No request can be taken. */
  get allBusy(): boolean {
    return this.#busy >= this.#limit;
  }

  /** No carrier can be opened. */
  get full(): boolean {
    return this.idle.size + this.#busy >= this.#limit;
  }

  all(): Carrier[] {
    return [...this.#all];
  }

  /** A new lane; the caller has seen that there is room. */
  open(connection: Connection, events: LaneEvents): Lane {
    const lane = new Lane(connection, events);
    this.add(lane);
    this.#lanesOpened += 1;
    return lane;
  }

  add(carrier: Carrier): void {
    this.#all.add(carrier);
  }

  /** It has ended. */
  delete(carrier: Carrier): void {
    this.forget(carrier);
    this.#all.delete(carrier);
  }

  /** It gets a request. */
  busy(carrier: Carrier): void {
    carrier.state = 'busy';
    this.#busy += 1;
  }

  /** The caller of its request has gone. */
  detach(carrier: Carrier): void {
    carrier.state = 'detached';
    this.#busy -= 1;
    this.#detached += 1;
  }

  /** Its request is over, and it is well. */
  release(carrier: Carrier): void {
    if (carrier.state === 'busy') this.#busy -= 1;
    else if (carrier.state === 'detached') this.#detached -= 1;
    carrier.state = 'idle';
    carrier.request = undefined;
  }

  /** Takes it out of the counts. */
  forget(carrier: Carrier): void {
    if (carrier.state === 'busy') this.#busy -= 1;
    else if (carrier.state === 'detached') this.#detached -= 1;
    // Unary calls are never idle.
    else if (carrier.state === 'idle') this.idle.remove(carrier as Lane);
    carrier.state = 'ending';
  }
}
