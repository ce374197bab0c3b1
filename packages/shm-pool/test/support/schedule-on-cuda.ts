/** Random schedules on CUDA memory, against a server in another process. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TritonClient } from '@zerohop/triton-client';
import { expect } from 'vitest';
import { expectClean } from './schedule/expect-counts.js';
import { runSchedules, type Summary } from './schedule/many.js';
import { runSchedule } from './schedule/schedule.js';
import type { Target } from './schedule/target.js';

const ON_CUDA = { transport: 'cuda', poolOptions: { serverDeviceId: 0 }, stuckMs: 60_000 } as const;

/** A target whose CUDA regions are what another client forgets, and are listed with the others. */
export function withCudaRegions(target: Target): Target {
  const { client, disturbances } = target;
  if (!(client instanceof TritonClient)) throw new TypeError(`${target.name} speaks no protocol`);
  const other = new TritonClient(client.url);
  const forget = async () => {
    // Regions in use are kept, and the call then says so.
    await other.cudaSharedMemory.unregisterAll().catch(() => undefined);
  };
  return {
    ...target,
    disturbances: { ...disturbances, ...(disturbances.forget !== undefined && { forget }) },
    async up() {
      await target.up();
      // Its connection is another one.
      while (!(await other.isReady().catch(() => false))) await sleep(20);
    },
    async regionNames() {
      const [names, regions] = await Promise.all([target.regionNames(), other.cudaSharedMemory.status()]);
      return [...names, ...regions.map(({ name }) => name)];
    },
    async close() {
      await other.close();
      await target.close();
    },
  };
}

/** No connection is lost: nothing is retired, and forgotten regions are registered anew. */
export async function expectSteadySchedule(target: Target, requests: number): Promise<void> {
  const options = { slots: 8, callers: 20, disturbEvery: Math.ceil(requests / 20), loseConnections: false };
  const report = await runSchedule(target, { ...ON_CUDA, ...options, seed: 31, requests });
  expectClean([report], { kills: false });
  expect(report.retired, JSON.stringify(report)).toBe(0);
  expect(report.disturbances.forget, JSON.stringify(report)).toBeGreaterThan(0);
  expect(report.reregistrations, JSON.stringify(report)).toBeGreaterThan(0);
}

/** Everything that can happen, with a kill in each part; so many requests, or as many parts as begin within `limitMs`. */
export async function expectStorm(target: Target, requests: number, limitMs = Number.POSITIVE_INFINITY): Promise<void> {
  const began = performance.now();
  const part = Math.min(requests, 5000);
  const parts: Summary[] = [];
  for (let done = 0; done < requests && (done === 0 || performance.now() - began < limitMs); done += part) {
    const options = { seed: 1000 + done, requests: part, each: part / 5, killEvery: part };
    parts.push(await runSchedules(target, { ...ON_CUDA, ...options }));
    expectClean(parts);
  }
  // Requests were lost, and some of their regions proven free.
  for (const what of ['lost', 'proofs'] as const) {
    const count = parts.reduce((sum, { ledger }) => sum + ledger[what], 0);
    expect(count, `${what}: ${JSON.stringify(parts)}`).toBeGreaterThan(0);
  }
}
