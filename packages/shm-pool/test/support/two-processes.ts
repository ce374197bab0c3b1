/** Two pools in two processes on one server, of which one is killed under load. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';

const course = fileURLToPath(new URL('../fixtures/two-pools.mjs', import.meta.url));
const ROUNDS = 4;
const SLOTS = 6;

interface Belongings {
  readonly entries: readonly string[];
  readonly registrations: readonly string[];
}

interface Outcome {
  readonly how: 'open' | 'reap';
  readonly transport: string;
  /** What the killed process left behind. */
  readonly left: Belongings;
  /** What the next start said. */
  readonly report: object;
  /** What of it was there after the next start. */
  readonly cleaned: Belongings;
  /** What the other process had then. */
  readonly held: Belongings;
  readonly end: { readonly requests: number };
  readonly atTheEnd: Belongings;
}

export interface TwoProcesses {
  readonly transport: 'cuda' | 'system';
  /** The address of a server with the model `slow`, or 'devserver' or 'triton' for one of its own. */
  readonly server: string;
  /** What starts the program that starts the processes. */
  readonly before?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

const NOTHING: Belongings = { entries: [], registrations: [] };

export async function expectTwoProcesses({ transport, server, before = [], env = {} }: TwoProcesses): Promise<void> {
  const options = { transport, slots: SLOTS, ...(transport === 'cuda' && { serverDeviceId: 0 }) };
  const [command = '', ...args] = [...before, process.execPath, course, server, JSON.stringify(options), `${ROUNDS}`];
  const running = promisify(execFile)(command, args, { env: { ...process.env, ...env } });
  onTestFinished(() => void running.child.kill());
  const outcomes = JSON.parse((await running).stdout) as Outcome[];
  expect(outcomes.map(({ how }) => how)).toEqual(['open', 'reap', 'open', 'reap']);
  for (const { how, left, report, cleaned, held, end, atTheEnd, ...outcome } of outcomes) {
    expect(outcome.transport).toBe(transport);
    expect(left.entries).toHaveLength(SLOTS);
    expect(left.registrations).toHaveLength(SLOTS);
    expect(cleaned).toEqual(NOTHING);
    if (how === 'open') expect(report).toMatchObject({ transport });
    else {
      expect(report).toMatchObject({
        unregistered: expect.arrayContaining([...left.registrations]) as string[],
        removed: expect.arrayContaining([...left.entries]) as string[],
        left: expect.arrayContaining(
          held.entries.map((name) => ({ name, reason: 'its owner lives, or another reaper is at it' })),
        ) as object[],
      });
    }
    expect(held.entries).toHaveLength(SLOTS);
    expect(held.registrations).toHaveLength(SLOTS);
    // The other one noticed nothing: every answer its own, every region its first.
    expect(end).toMatchObject({
      mismatched: 0,
      stats: { size: SLOTS, registerCalls: SLOTS, reregistrations: 0, retired: 0, quarantined: 0 },
      unproven: [],
    });
    expect(end.requests).toBeGreaterThanOrEqual(1200);
    expect(atTheEnd).toEqual(NOTHING);
  }
}
