import { randomInt } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { availability } from '@zerohop/cuda-native';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeCommit, describeMachine } from '../../../../bench/src/machine.js';
import { type ClientHoldings, clientGrowth, clientHoldings } from '../../../../bench/src/soak/holdings.js';
import { startDevicePeer } from '../support/device-peer.js';
import { ours, removeOurEntries } from '../support/names.js';
import { type Counted, expectClean, sumOf } from '../support/schedule/expect-counts.js';
import { runSchedules, type Summary } from '../support/schedule/many.js';
import type { ScheduleOptions, ScheduleReport } from '../support/schedule/options.js';
import { runSchedule } from '../support/schedule/schedule.js';
import type { Target } from '../support/schedule/target.js';
import { devServerTarget, fakeTarget, realTarget } from '../support/schedule/targets.js';

/** POOL_SCHEDULES_SEED repeats a run, POOL_SCHEDULES_REQUESTS is how many there are in all, POOL_SCHEDULES_OUT names a file. */
const { POOL_SCHEDULES_OUT, POOL_SCHEDULES_REQUESTS = '1000000', POOL_SCHEDULES_SEED } = process.env;
const REQUESTS = Number(POOL_SCHEDULES_REQUESTS);
const SEED = POOL_SCHEDULES_SEED === undefined ? randomInt(2 ** 31) : Number(POOL_SCHEDULES_SEED);

/** Of a target's requests, those in which no connection is lost; what the process holds is read between their parts. */
const STEADY_SHARE = 0.4;
const STEADY_PARTS = 8;
const SLOTS = 16;

/** Which targets, by which transport, and their shares of the requests. */
const RUNS: readonly {
  readonly target: string;
  readonly transport: ScheduleOptions['transport'];
  readonly share: number;
  /** Requests in each of the schedules in which connections are lost. */
  readonly each: number;
  readonly open: () => Target | Promise<Target>;
}[] = [
  { target: 'in-process double 2.51', transport: 'system', share: 0.26, each: 200, open: () => fakeTarget() },
  { target: 'in-process double 2.48', transport: 'system', share: 0.1, each: 200, open: () => fakeTarget('2.48.0') },
  { target: 'in-process double 2.53', transport: 'system', share: 0.1, each: 200, open: () => fakeTarget('2.53.0') },
  { target: 'in-process double 2.51', transport: 'bytes', share: 0.05, each: 200, open: () => fakeTarget() },
  { target: 'in-process double 2.51', transport: 'cuda', share: 0.03, each: 200, open: deviceTarget },
  { target: 'devserver 2.48', transport: 'system', share: 0.06, each: 400, open: () => devServerTarget('2.48') },
  { target: 'devserver 2.51', transport: 'system', share: 0.06, each: 400, open: () => devServerTarget('2.51') },
  { target: 'devserver 2.53', transport: 'system', share: 0.06, each: 400, open: () => devServerTarget('2.53') },
  { target: 'devserver 2.68', transport: 'system', share: 0.06, each: 400, open: () => devServerTarget('2.68') },
  { target: 'devserver 2.51', transport: 'bytes', share: 0.02, each: 400, open: () => devServerTarget('2.51') },
  { target: 'real server 2.51', transport: 'system', share: 0.1, each: 2000, open: () => realTarget('2.51') },
  { target: 'real server 2.51', transport: 'bytes', share: 0.02, each: 2000, open: () => realTarget('2.51') },
  { target: 'real server 2.48', transport: 'system', share: 0.08, each: 2000, open: () => realTarget('2.48') },
];

/** The driver's own memory cannot be opened by the process that has it: another one does. */
function deviceTarget(): Target {
  const peer = startDevicePeer();
  const target = fakeTarget('2.51.0', (...handle: Parameters<typeof peer.openHandle>) => peer.openHandle(...handle));
  return { ...target, close: () => peer.end() };
}

interface Result {
  readonly target: string;
  readonly transport: string;
  readonly seconds: number;
  readonly steady: readonly ScheduleReport[];
  readonly readings: readonly (ClientHoldings & { readonly entries: number; readonly regions: number })[];
  readonly storm: Summary;
  readonly problems: readonly string[];
}

setFlagsFromString('--expose-gc');
globalThis.gc = runInNewContext('gc') as NodeJS.GCFunction;

describeTier(
  'triton',
  'pools under random schedules',
  () => {
    const results: Result[] = [];
    let commit: string;

    beforeAll(async () => {
      // Others may commit while it runs.
      commit = await describeCommit(repositoryRoot);
    });

    afterAll(async () => {
      removeOurEntries();
      if (POOL_SCHEDULES_OUT !== undefined)
        writeFileSync(POOL_SCHEDULES_OUT, `${await describeRun(results, commit)}\n`);
    });

    test.for(RUNS)(
      '$target on $transport',
      { timeout: 4 * 3_600_000 },
      async ({ target: name, transport, share, each, open }) => {
        if (transport === 'cuda') expect(availability().available, 'needs a driver, or the fake one').toBe(true);
        const began = performance.now();
        const target = await open();
        onTestFinished(() => target.close());
        const poolOptions = transport === 'cuda' ? { serverDeviceId: 0 } : {};
        const base = { transport, slots: SLOTS, callers: 40, stuckMs: 60_000, poolOptions };
        const requests = Math.ceil(REQUESTS * share);
        const part = Math.ceil((requests * STEADY_SHARE) / STEADY_PARTS);
        const [steady, readings]: [ScheduleReport[], Result['readings'][number][]] = [[], []];
        for (let index = 0; index < STEADY_PARTS; index += 1) {
          steady.push(await runSchedule(target, { ...base, seed: SEED + index, requests: part }));
          readings.push(await readingOf(target, (index + 1) * part));
        }
        const storm = await runSchedules(target, {
          ...{ transport, poolOptions, stuckMs: 60_000, each, seed: SEED + STEADY_PARTS },
          ...{ requests: requests - STEADY_PARTS * part, killEvery: Math.min(5000, requests) },
        });
        const grown = flat(readings);
        const problems = [...steady.flatMap(({ violations }) => violations), ...storm.violations, ...grown];
        const seconds = Math.round((performance.now() - began) / 1000);
        results.push({ target: name, transport, seconds, steady, readings, storm, problems });
        process.stdout.write(
          `${name} on ${transport}: ${requests} requests in ${storm.schedules} schedules, ${seconds} s, seed ${SEED}\n`,
        );
        expect(problems).toEqual([]);
        for (const report of steady) {
          expect(report).toMatchObject({
            retired: 0,
            reregistrations: 0,
            registerCalls: transport === 'bytes' ? 0 : SLOTS,
          });
        }
        expectClean([...steady, storm]);
      },
    );
  },
  { needs: ['addon', 'old-triton'] },
);

async function readingOf(target: Target, done: number): Promise<Result['readings'][number]> {
  const holdings = await clientHoldings(done);
  const entries = readdirSync('/dev/shm').filter(ours).length;
  return { ...holdings, entries, regions: (await target.regionNames()).length };
}

/** What grew from one steady part to the next; counts must not at all. */
function flat(readings: Result['readings']): string[] {
  const [first, last] = [readings[0], readings.at(-1)];
  // The addon has a thread for each wait at a time, of which there is one for each slot at most.
  const grown = clientGrowth(readings.map((reading) => ({ ...reading, threads: 0 })));
  if ((last?.threads ?? 0) > (first?.threads ?? 0) + SLOTS) {
    grown.push(`threads grew from ${first?.threads} to ${last?.threads}`);
  }
  for (const what of ['entries', 'regions'] as const) {
    if ((last?.[what] ?? 0) > (first?.[what] ?? 0)) grown.push(`${what} grew from ${first?.[what]} to ${last?.[what]}`);
  }
  return grown;
}

async function describeRun(results: readonly Result[], commit: string): Promise<string> {
  const reports = results.flatMap(({ steady, storm }): Counted[] => [...steady, storm]);
  const sum = (of: (report: Counted) => number) => sumOf(reports, of);
  return JSON.stringify(
    {
      kind: 'soak-pool-schedules',
      date: new Date().toISOString().slice(0, 10),
      commit,
      machine: await describeMachine(),
      versions: { node: process.version },
      seed: SEED,
      totals: {
        schedules: results.reduce((total, { steady, storm }) => total + steady.length + storm.schedules, 0),
        requests: sum(({ requests }) => requests),
        answered: sum(({ answered }) => answered),
        timedOut: sum(({ timedOut }) => timedOut),
        cancelled: sum(({ cancelled }) => cancelled),
        lateWrites: sum(({ ledger }) => ledger.lateWrites),
        lost: sum(({ ledger }) => ledger.lost),
        proofs: sum(({ ledger }) => ledger.proofs),
        kills: sum(({ disturbances }) => disturbances.kill ?? 0),
        retired: sum(({ retired }) => retired),
        resizes: sum(({ met }) => met.resize ?? 0),
        smallerRequests: sum(({ met }) => met['smaller request'] ?? 0),
        secondRuns: sum(({ met }) => met['second run'] ?? 0),
        endedViews: sum(({ met }) => met['ended view'] ?? 0),
        problems: results.reduce((total, { problems }) => total + problems.length, 0),
      },
      runs: results,
    },
    null,
    1,
  );
}
