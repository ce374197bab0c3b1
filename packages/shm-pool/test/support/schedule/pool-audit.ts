/** What a pool's own statistics have to say, at any time and after its end. */
import type { CloseReport, PoolStats, TensorPool } from '../../../src/index.js';
import { ours } from '../names.js';
import type { Ledger } from './ledger.js';
import type { Resizes } from './resizes.js';
import { RetirementBound } from './retirement-bound.js';
import type { Target } from './target.js';

export class PoolAudit {
  readonly bound: RetirementBound;
  readonly #ledger: Ledger;
  readonly #slots: number;
  readonly #resizes: Resizes;
  readonly #mayBeAway: () => boolean;
  #pool: TensorPool | undefined;
  #before: PoolStats | undefined;
  /** Names of regions that closed pools could not prove free, in this schedule or before. */
  readonly #unproven: Set<string>;
  /** Retired regions that no request was to use: the server could not say that it had let go of them. */
  #retiredUnused = 0;
  /** Of the retired regions, how many have their memory still. */
  #kept = 0;
  #keptBefore = 0;
  /** Sums over the pools that were closed. */
  readonly closed = { retired: 0, registerCalls: 0, reregistrations: 0 };
  /** Slots of pools that were destroyed: each may have had a request in flight. */
  givenUp = 0;

  /**
   * @param slots - how many each pool is opened with
   * @param before - names of regions that the server has before the first pool
   * @param mayBeAway - whether the server can't be reached, or could not a moment ago
   */
  constructor(ledger: Ledger, slots: number, resizes: Resizes, before: readonly string[], mayBeAway: () => boolean) {
    this.#ledger = ledger;
    this.#slots = slots;
    this.#resizes = resizes;
    this.#mayBeAway = mayBeAway;
    this.#unproven = new Set(before);
    const retired = () => this.closed.retired + (this.#pool?.stats.retired ?? 0);
    this.bound = new RetirementBound(retired, () => ledger.unanswered);
    ledger.onSent = () => this.bound.sent();
  }

  /** For the next pool. */
  begin(pool: TensorPool): void {
    this.#pool = pool;
    this.#before = undefined;
    this.#keptBefore = this.#kept;
    this.#resizes.begin(pool, this.#slots);
    pool.on('retire', ({ region, reason, keptBytes }) => {
      if (!this.#ledger.retired(region)) this.#unusedRetired(`${region} (${reason})`, pool);
      if (keptBytes > 0) this.#kept += 1;
    });
  }

  /**
   * A shm object that nobody uses can go at any time. Device memory must outlive the server's mapping, which a server
   * that is away can't be asked to end: when a slot leaves then, its memory stays. A pool that closes may have begun to
   * give up what was in use then.
   */
  #unusedRetired(region: string, { transport, closed }: TensorPool): void {
    if (!closed && (transport !== 'cuda' || !this.#mayBeAway()))
      this.#ledger.violated(`${region} was given up, and no request on it was without an answer`);
    this.#retiredUnused += 1;
    this.bound.allow(1);
  }

  /** The pool has so few slots, or had to give up so much, that another has to be opened. */
  isWornOut({ stats }: TensorPool): boolean {
    return stats.size < this.#resizes.least || stats.retired >= this.#slots;
  }

  /** Between any two steps. @param restoring - slots may be registered anew before they are lent */
  check(pool: TensorPool, restoring: boolean): void {
    if (pool.closed) return;
    const { stats } = pool;
    const { size, idle, leased, detached, quarantined, waiting, retired, registerCalls, reregistrations } = stats;
    const wrong = (what: string) => this.#ledger.violated(`${what}: ${JSON.stringify(stats)}`);
    if (idle + leased + detached + quarantined !== size) wrong('the slots do not add up');
    const { least, most } = this.#resizes;
    if (size > most) wrong(`more slots than the ${most} asked for`);
    if (size < least && this.#isReplaced) wrong(`fewer slots than the ${least} asked for`);
    this.#checkBound();
    if (waiting < 0 || (waiting > 0 && idle > 0 && !restoring)) wrong('callers wait beside idle slots');
    const before = this.#before;
    if (before !== undefined) {
      const fell =
        retired < before.retired || registerCalls < before.registerCalls || reregistrations < before.reregistrations;
      if (fell) wrong(`a count fell from ${JSON.stringify(before)}`);
    }
    this.#before = stats;
  }

  /** The pool has not lost so much memory that it may be smaller than asked for. */
  get #isReplaced(): boolean {
    return this.#kept - this.#keptBefore <= this.#slots;
  }

  #checkBound(): void {
    const retired = this.closed.retired + (this.#pool?.stats.retired ?? 0);
    const { limit } = this.bound;
    if (retired > limit) this.#ledger.violated(`${retired} regions were given up, and ${limit} may have been`);
  }

  /** Once all slots are idle. @param target - absent where the server may have lost regions: else it has those of the slots */
  async checkSettled(pool: TensorPool, target: Target | undefined): Promise<void> {
    const { size } = pool.stats;
    const { wanted } = this.#resizes;
    if (size > wanted || (size < wanted && this.#isReplaced))
      this.#ledger.violated(`the pool has ${size} slots, and was asked for ${wanted}`);
    if (pool.transport === 'bytes' || target === undefined) return;
    const names = (await target.regionNames()).filter((name) => ours(name) && !this.#unproven.has(name));
    if (names.length !== size) this.#ledger.violated(`the server has ${names.length} regions for ${size} slots`);
  }

  /** Memory of a lost request is in quarantine or retired, until the proof. */
  checkLost(pool: TensorPool): void {
    if (pool.closed) return;
    const { quarantined, retired, detached } = pool.stats;
    // Time enough for the pool to hear of it.
    const lost = this.#ledger.lostFor(500);
    if (lost > quarantined + detached + retired + this.closed.retired) {
      this.#ledger.violated(`${lost} requests were lost without a proof: ${JSON.stringify(pool.stats)}`);
    }
  }

  /** @param target - absent while the server is away: it lists nothing for certain */
  async end(pool: TensorPool, { unproven }: CloseReport, target: Target | undefined): Promise<void> {
    const { retired, registerCalls, reregistrations } = pool.stats;
    this.#pool = undefined;
    this.closed.retired += retired;
    this.closed.registerCalls += registerCalls;
    this.closed.reregistrations += reregistrations;
    if (unproven.length < retired) {
      this.#ledger.violated(`${retired} regions were retired, and the close reports ${JSON.stringify(unproven)}`);
    }
    const { registers } = this.#ledger.counts;
    if (registers !== this.closed.registerCalls) {
      this.#ledger.violated(`the pools counted ${this.closed.registerCalls} register calls of ${registers}`);
    }
    this.#checkBound();
    this.#ledger.checkEntries();
    this.#checkEntries(pool);
    for (const { region } of unproven) this.#unproven.add(region);
    const names = (await target?.regionNames()) ?? [];
    const left = names.filter((name) => ours(name) && !this.#unproven.has(name));
    if (left.length > 0) this.#ledger.violated(`a closed pool left ${left.join(', ')} with the server`);
    this.#ledger.forget();
  }

  /** A closed pool leaves the entries of the memory that it had to keep, and nothing else. */
  #checkEntries({ transport }: TensorPool): void {
    if (transport !== 'system') return;
    const { entries } = this.#ledger;
    if (entries !== this.#kept)
      this.#ledger.violated(`a closed pool left ${entries} entries, with the memory of ${this.#kept} regions kept`);
  }

  /** After the last pool. @param warned - how many retired regions the warnings told of */
  checkSums(warned: number): void {
    const { counts } = this.#ledger;
    const { retired } = this.closed;
    if (warned !== retired) this.#ledger.violated(`warnings about ${warned} of ${retired} retired regions`);
    const lost = counts.lost + this.givenUp;
    const used = retired - this.#retiredUnused;
    if (used > lost) this.#ledger.violated(`${used} regions were retired for ${lost} lost requests`);
  }
}
