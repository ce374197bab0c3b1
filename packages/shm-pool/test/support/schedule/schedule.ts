/**
 * A random schedule: callers with good and bad habits on one pool after another, a server that is disturbed meanwhile, and
 * an account of its own of what must be true. What it draws follows from the seed; when things happen also depends on
 * the machine, so that a seed gives the same kind of run again and not the same run.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { seeded } from '@zerohop/test-support';
import { TensorPool } from '../../../src/index.js';
import { type CallerContext, HABITS, type Habit, type Met } from './callers.js';
import { Ledger } from './ledger.js';
import type { ScheduleOptions, ScheduleReport } from './options.js';
import { PoolAudit } from './pool-audit.js';
import { Resizes } from './resizes.js';
import { codeOf, LOST, Tally } from './tally.js';
import { DISTURBANCES, type DisturbanceName, type Target } from './target.js';
import { WatchedClient } from './watched-client.js';

/** For how long after a disturbance its consequences are looked upon as such, in milliseconds. */
const AFTERMATH_MS = 20_000;

export async function runSchedule(target: Target, options: ScheduleOptions): Promise<ScheduleReport> {
  return new Schedule(target, options, await target.regionNames()).run();
}

class Schedule {
  readonly #target: Target;
  readonly #options: Required<ScheduleOptions>;
  readonly #random: () => number;
  readonly #ledger: Ledger;
  readonly #client: WatchedClient;
  readonly #tally: Tally;
  readonly #audit: PoolAudit;
  readonly #context: CallerContext;
  readonly #habits: readonly Habit[];
  readonly #resizes: Resizes;
  readonly #met: Partial<Record<Met, number>> = {};
  readonly #disturbances: Record<string, number> = {};
  #pool: TensorPool | undefined;
  #pools = 0;
  #reopening: Promise<void> | undefined;
  #disturbing: Promise<void> | undefined;
  #nextDisturbance: number;
  #nextKill: number;
  #nextPool: number;
  #nextResize: number;
  #id = 0;
  /** Requests that failed because of the server or of its connection. */
  #refused = 0;
  /** When the last disturbance was over; never, while one is under way. */
  #disturbedUntil = Number.NEGATIVE_INFINITY;

  constructor(target: Target, options: ScheduleOptions, before: readonly string[]) {
    this.#target = target;
    this.#options = {
      slots: 4,
      callers: 10,
      disturbEvery: 0,
      killEvery: 0,
      loseConnections: true,
      reopenEvery: 0,
      resizeEvery: 0,
      growing: false,
      poolOptions: {},
      open: (...args) => TensorPool.open(...args),
      stuckMs: 30_000,
      ...options,
    };
    const { slots, disturbEvery, killEvery, reopenEvery, resizeEvery, loseConnections, growing } = this.#options;
    const { strictViews = false } = this.#options.poolOptions;
    this.#random = seeded(options.seed).next;
    this.#ledger = new Ledger(target.countsUsers, strictViews);
    this.#client = new WatchedClient(target.client, this.#ledger);
    const violated = (text: string) => this.#ledger.violated(text);
    const met = (what: Met) => {
      this.#met[what] = (this.#met[what] ?? 0) + 1;
    };
    this.#resizes = new Resizes({
      settled: () => met('resize'),
      failed: (error, pool) => {
        met('failed resize');
        this.#tally.notResized(error, pool.closed);
      },
    });
    this.#audit = new PoolAudit(this.#ledger, slots, this.#resizes, before, () => this.#disturbedWithin(2000));
    this.#nextDisturbance = disturbEvery || Number.POSITIVE_INFINITY;
    // Half-way, so that there is time before and after it.
    this.#nextKill = killEvery / 2 || Number.POSITIVE_INFINITY;
    this.#nextPool = reopenEvery || Number.POSITIVE_INFINITY;
    this.#nextResize = resizeEvery || Number.POSITIVE_INFINITY;
    const circumstances = () => {
      const disturbed = this.#disturbedWithin(AFTERMATH_MS);
      const poolMayBeClosed = this.#pools > 1 || this.#reopening !== undefined;
      return { disturbed, connectionsMayBeLost: disturbed && loseConnections, poolMayBeClosed };
    };
    this.#tally = new Tally(circumstances, violated);
    this.#context = {
      target,
      ledger: this.#ledger,
      ...{ strictViews, growing, met },
      random: this.#random,
      pool: () => this.#current,
      nextId: () => {
        this.#id += 1;
        return this.#id;
      },
      ended: (error) => {
        if (this.#tally.ended(error)) this.#refused += 1;
      },
      turnedAway: (error) => {
        this.#tally.refused(error);
        if (codeOf(error) === 'ERR_POOL_EXHAUSTED') this.#reopen();
      },
      audit: () => this.#audit.check(this.#current, this.#disturbedWithin(2000)),
    };
    this.#habits = HABITS.filter(({ when }) => when?.(this.#context) ?? true);
  }

  get #current(): TensorPool {
    return this.#pool as TensorPool;
  }

  #disturbedWithin(ms: number): boolean {
    return performance.now() - this.#disturbedUntil < ms;
  }

  async run(): Promise<ScheduleReport> {
    let warned = 0;
    const onWarning = (warning: Error & { code?: string }) => {
      if (/^Pool .* gave up /.test(warning.message))
        warned += Number(/gave up (\d+) regions/.exec(warning.message)?.[1] ?? 1);
      // One for each output of a pool.
      else if (warning.code === 'ZEROHOP_OUTPUT_GREW' && this.#options.growing) return;
      // Of memory that no slot got.
      else if (/^\d+ bytes of region/.test(warning.message)) return;
      // The audit knows how many slots there have to be.
      else if (warning.message.endsWith('(maxRetired)')) return;
      // The devserver died of what a real one of its version would have, or a slot was not replaced.
      else this.#ledger.violated(`${warning.code}: ${warning.message}`);
    };
    // Not printed: there is one for every burst of retired regions.
    const printing = process.listeners('warning');
    process.removeAllListeners('warning');
    process.on('warning', onWarning);
    try {
      await this.#openPool();
      const { callers } = this.#options;
      const calls = Array.from({ length: callers }, (_, caller) => this.#call(caller));
      await Promise.race([Promise.all(calls), this.#watch()]);
      await this.#disturbing;
      await this.#reopening;
      await this.#settle();
      // After a violation a slot may never come back.
      await this.#closePool(this.#ledger.violations.length > 0);
      await turn();
      this.#audit.checkSums(warned);
    } catch (error) {
      this.#ledger.violated(error instanceof Error ? `${error.stack}` : String(error));
      await this.#pool?.destroy();
    } finally {
      process.off('warning', onWarning);
      for (const listener of printing) process.on('warning', listener);
    }
    return this.#report();
  }

  #report(): ScheduleReport {
    const { seed, transport } = this.#options;
    const { requests, answered, timedOut, cancelled, turnedAway, failed } = this.#tally;
    const { violations, counts: ledger } = this.#ledger;
    return {
      ...{ seed, target: `${this.#target.name} ${this.#target.version}`, transport, violations },
      ...{ requests, answered, timedOut, cancelled, turnedAway, failed },
      ...{ disturbances: this.#disturbances, met: this.#met, ledger, pools: this.#pools, ...this.#audit.closed },
    };
  }

  get #over(): boolean {
    const { requests } = this.#tally;
    // A kill that is due comes first.
    const done = requests >= this.#options.requests && requests < this.#nextKill;
    return done || this.#ledger.violations.length > 0;
  }

  async #call(caller: number): Promise<void> {
    while (!this.#over) {
      await this.#reopening;
      const refused = this.#refused;
      await pick(this.#habits, this.#random()).run(this.#context);
      this.#whatIsDue();
      if (this.#refused === refused) continue;
      // Nobody serves: one caller goes on, so that a server is met as it comes up, and not as fast as it can.
      await (caller === 0 || this.#disturbing === undefined ? sleep(20) : this.#disturbing);
    }
  }

  /** Rejects when nothing ends any more. */
  async #watch(): Promise<never> {
    const { stuckMs } = this.#options;
    for (;;) {
      await sleep(200, undefined, { ref: false });
      if (performance.now() - this.#tally.lastEnd > stuckMs) {
        throw new Error(`no request ended for ${stuckMs} ms: ${JSON.stringify(this.#pool?.stats)}`);
      }
      this.#ledger.checkEntries();
      this.#audit.checkLost(this.#current);
    }
  }

  #whatIsDue(): void {
    const { requests } = this.#tally;
    const { slots, disturbEvery, killEvery, reopenEvery, resizeEvery, loseConnections } = this.#options;
    if (!this.#over && this.#reopening === undefined && requests >= this.#nextResize) {
      this.#nextResize = requests + resizeEvery * (0.5 + this.#random());
      this.#resizes.ask(1 + Math.floor(this.#random() * 1.5 * slots));
    }
    if (this.#over || this.#disturbing !== undefined || this.#reopening !== undefined) return;
    if (requests >= this.#nextKill) {
      this.#nextKill += killEvery;
      this.#disturb('kill');
    } else if (requests >= this.#nextDisturbance) {
      this.#nextDisturbance = requests + disturbEvery * (0.5 + this.#random());
      const choices = (Object.keys(this.#target.disturbances) as DisturbanceName[])
        .map((name) => ({ name, ...DISTURBANCES[name] }))
        .filter(({ losesConnections }) => loseConnections || !losesConnections);
      if (choices.length > 0) this.#disturb(pick(choices, this.#random()).name);
    } else if (requests >= this.#nextPool) {
      this.#nextPool = requests + reopenEvery;
      this.#reopen();
    }
  }

  #disturb(name: DisturbanceName): void {
    this.#disturbances[name] = (this.#disturbances[name] ?? 0) + 1;
    const work = async () => {
      this.#disturbedUntil = Number.POSITIVE_INFINITY;
      const settled = DISTURBANCES[name].losesConnections ? this.#audit.bound.open() : undefined;
      await this.#target.disturbances[name]?.();
      await this.#target.up();
      this.#disturbedUntil = this.#tally.lastEnd = performance.now();
      this.#disturbing = undefined;
      if (settled !== undefined) this.#whenNoticed(settled);
      // Retired memory is replaced up to a limit.
      if (this.#audit.isWornOut(this.#current)) this.#reopen();
    };
    this.#disturbing = work().catch((error: unknown) => this.#ledger.violated(`${name}: ${String(error)}`));
  }

  #whenNoticed(then: () => void): void {
    const { noticeMs } = this.#target;
    if (noticeMs === 0) then();
    else if (Number.isFinite(noticeMs)) setTimeout(then, noticeMs).unref();
  }

  /** Closes the pool, at times under its callers, and opens another. */
  #reopen(): void {
    if (this.#reopening !== undefined) return;
    const work = async () => {
      await this.#closePool(this.#random() < 0.5);
      await this.#openPool();
      this.#tally.lastEnd = performance.now();
      this.#reopening = undefined;
    };
    this.#reopening = work();
    this.#reopening.catch((error: unknown) => this.#ledger.violated(`reopening: ${String(error)}`));
  }

  async #openPool(): Promise<void> {
    const { transport, slots, growing, poolOptions, open } = this.#options;
    const { model, shapes } = this.#target;
    if (growing && this.#target.growing === undefined) throw new Error(`${this.#target.name} has no growing output`);
    for (;;) {
      try {
        const options = { model, transport, slots, shapes, ...(growing && this.#target.growing), ...poolOptions };
        this.#pool = await open(this.#client, options);
        this.#audit.begin(this.#pool);
        this.#pools += 1;
        return;
      } catch (error) {
        if (!LOST.includes(codeOf(error)) && !/no available versions/.test(String(error))) throw error;
        await this.#target.up();
      }
    }
  }

  async #closePool(atOnce: boolean): Promise<void> {
    const pool = this.#current;
    const { bound } = this.#audit;
    // What is in flight when a pool is destroyed may have to be given up; beside a server that is away, all of it.
    const closed = bound.open();
    if (atOnce) this.#audit.givenUp += this.#resizes.most;
    if (this.#disturbedWithin(2000)) bound.allow(this.#resizes.most);
    const report = await (atOnce ? pool.destroy() : pool.close());
    closed();
    await this.#audit.end(pool, report, this.#disturbing === undefined ? this.#target : undefined);
  }

  /** After the last request every slot is idle again. */
  async #settle(): Promise<void> {
    const until = performance.now() + 10_000;
    while (this.#ledger.violations.length === 0) {
      const { stats } = this.#current;
      if (stats.idle === stats.size && stats.waiting === 0 && !this.#resizes.pending) {
        const isUndisturbed = Object.keys(this.#disturbances).length === 0;
        return this.#audit.checkSettled(this.#current, isUndisturbed ? this.#target : undefined);
      }
      if (performance.now() > until) this.#ledger.violated(`not all came back: ${JSON.stringify(stats)}`);
      await sleep(5);
    }
  }
}

/** One of the entries by their weights; `at` in [0, 1). */
function pick<T extends { readonly weight: number }>(entries: readonly T[], at: number): T {
  let left = at * entries.reduce((sum, { weight }) => sum + weight, 0);
  for (const entry of entries) {
    left -= entry.weight;
    if (left < 0) return entry;
  }
  return entries.at(-1) as T;
}
