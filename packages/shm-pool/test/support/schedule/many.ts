/** Many schedules, each with a seed and circumstances of its own, and the sums of what they met. */
import { seeded } from '@zerohop/test-support';
import type { PoolOptions } from '../../../src/index.js';
import type { ScheduleOptions, ScheduleReport } from './options.js';
import { runSchedule } from './schedule.js';
import type { Target } from './target.js';

export interface ManyOptions extends Pick<ScheduleOptions, 'transport' | 'poolOptions' | 'stuckMs'> {
  readonly seed: number;
  /** In all. */
  readonly requests: number;
  /** In each schedule. */
  readonly each: number;
  /** At least one kill in so many. */
  readonly killEvery: number;
}

/** Sums; `violations` are those of the schedule that had some, which is the last one then. */
export interface Summary extends Omit<ScheduleReport, 'seed'> {
  readonly schedules: number;
  /** What the schedule with the violations was told. */
  readonly violatedBy?: ScheduleOptions;
}

/** Runs schedules until there were that many requests, or until one violates something. */
export async function runSchedules(target: Target, options: ManyOptions): Promise<Summary> {
  const { requests, each, killEvery, ...common } = options;
  let sum: Summary | undefined;
  let sinceKill = killEvery / 2;
  for (let index = 0; sum === undefined || sum.requests < requests; index += 1) {
    const seed = options.seed + index;
    const kills = sinceKill + each >= killEvery;
    sinceKill = kills ? 0 : sinceKill + each;
    const drawn = {
      ...common,
      ...draw(seed, each, target, common.poolOptions),
      ...(kills && { killEvery: each, loseConnections: true }),
    };
    const report = await runSchedule(target, { ...drawn, seed, requests: each });
    sum = add(sum, report);
    if (report.violations.length > 0) return { ...sum, violatedBy: { ...drawn, seed, requests: each } };
  }
  return sum;
}

/** What is random about a schedule before it begins. */
function draw(seed: number, requests: number, target: Target, poolOptions?: Partial<PoolOptions>) {
  const { next, integer } = seeded(seed ^ 0x5eed);
  const slots = integer(1, 16);
  return {
    slots,
    callers: integer(1, 3 * slots + 4),
    disturbEvery: Math.ceil(requests / integer(1, 12)),
    loseConnections: next() < 0.8,
    reopenEvery: next() < 0.5 ? 0 : Math.ceil(requests / integer(1, 4)),
    resizeEvery: next() < 0.5 ? 0 : Math.ceil(requests / integer(2, 20)),
    growing: next() < 0.3 && target.growing !== undefined,
    poolOptions: { ...poolOptions, strictViews: next() < 0.3 },
  };
}

function add(sum: Summary | undefined, { seed: _, ...report }: ScheduleReport): Summary {
  if (sum === undefined) return { ...report, schedules: 1 };
  return {
    ...report,
    schedules: sum.schedules + 1,
    requests: sum.requests + report.requests,
    answered: sum.answered + report.answered,
    timedOut: sum.timedOut + report.timedOut,
    cancelled: sum.cancelled + report.cancelled,
    turnedAway: sum.turnedAway + report.turnedAway,
    pools: sum.pools + report.pools,
    retired: sum.retired + report.retired,
    registerCalls: sum.registerCalls + report.registerCalls,
    reregistrations: sum.reregistrations + report.reregistrations,
    failed: addEach(sum.failed, report.failed),
    disturbances: addEach(sum.disturbances, report.disturbances),
    met: addEach(sum.met, report.met),
    ledger: addEach(sum.ledger, report.ledger),
  };
}

function addEach<T extends Readonly<Partial<Record<string, number>>>>(first: T, second: T): T {
  const names = new Set([...Object.keys(first), ...Object.keys(second)]);
  return Object.fromEntries([...names].map((name) => [name, (first[name] ?? 0) + (second[name] ?? 0)])) as T;
}
