/** What a client's process holds, and whether it grew over a long run. */
import { readdirSync } from 'node:fs';
import { setImmediate as afterTasks } from 'node:timers/promises';

export interface ClientHoldings {
  /** Requests or cycles so far. */
  readonly done: number;
  readonly residentBytes: number;
  /** What JavaScript holds: objects, ArrayBuffers and what is accounted to them. */
  readonly heldBytes: number;
  readonly files: number;
  readonly threads: number;
}

/** The program must run with --expose-gc. Call it while nothing is under way. */
export async function clientHoldings(done: number): Promise<ClientHoldings> {
  for (let i = 0; i < 4; i += 1) {
    globalThis.gc?.();
    await afterTasks();
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    done,
    residentBytes: rss,
    heldBytes: heapUsed + external,
    files: readdirSync('/proc/self/fd').length,
    threads: readdirSync('/proc/self/task').length,
  };
}

/** V8 compiles more code and keeps more feedback for a while; a leak of 8 bytes a request in 10^6 is more. */
const HELD_SLACK_BYTES = 2 * 2 ** 20;
/** V8 and malloc take pages for a while. */
const RESIDENT_SLACK_BYTES = 16 * 2 ** 20;

/**
 * What grew from the second reading, by when code is compiled and heaps have their size, to the last; empty when nothing
 * did. Memory must have grown in the second half of the run too: what happens once is no leak.
 */
export function clientGrowth(readings: readonly ClientHoldings[]): string[] {
  const [, first, ...others] = readings;
  const last = others.at(-1);
  const middle = others[Math.floor(others.length / 2)];
  if (first === undefined || last === undefined || middle === undefined) throw new RangeError('too few readings');
  const problems: string[] = [];
  if (last.heldBytes - first.heldBytes > HELD_SLACK_BYTES && last.heldBytes > middle.heldBytes) {
    problems.push(`what JavaScript holds grew from ${first.heldBytes} to ${last.heldBytes} bytes`);
  }
  if (last.residentBytes - first.residentBytes > RESIDENT_SLACK_BYTES && last.residentBytes > middle.residentBytes) {
    problems.push(`resident bytes grew from ${first.residentBytes} to ${last.residentBytes}`);
  }
  if (last.files > first.files) problems.push(`open files grew from ${first.files} to ${last.files}`);
  if (last.threads > first.threads) problems.push(`threads grew from ${first.threads} to ${last.threads}`);
  return problems;
}
