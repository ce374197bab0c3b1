/** What a run of requests holds, in this process and in the server, and whether it grew. */
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as afterTasks } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TritonClient } from '@zerohop/triton-client';

export interface Footprint {
  /** Bytes that JavaScript holds after a full collection: objects, ArrayBuffers and what else is accounted to them. */
  readonly clientHeld: number;
  /** Resident bytes, which also show what native code holds. */
  readonly clientRss: number;
  /** Undefined when the server is not ours. */
  readonly serverRss: number | undefined;
  readonly sharedMemoryFiles: number;
  readonly regions: number;
}

const MIB = 2 ** 20;
/** Code that is compiled later on, and lists of the measurement itself: less than half of this. */
const HELD_SLACK_BYTES = MIB;
/** V8 and malloc take pages for a while, by some MiB. 16 KiB kept in each of 750 requests are 12 MiB. */
const RSS_SLACK_BYTES = 8 * MIB;

const collectOnce = exposeGc();

function exposeGc(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** What the first collection finalises lets go of more, and ArrayBuffers are freed by tasks after it. */
async function collectGarbage(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    collectOnce();
    await afterTasks();
  }
}

/** Resident bytes, from /proc. */
function residentBytes(pid: number | 'self'): number {
  const kibibytes = readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmRSS:\s+(\d+) kB$/m)?.[1];
  return Number(kibibytes) * 1024;
}

/** Takes a reading between requests. Collects garbage first, which blocks for some milliseconds. */
export async function footprint(client: TritonClient, serverPid: number | undefined): Promise<Footprint> {
  const [system, cuda] = await Promise.all([client.systemSharedMemory.status(), client.cudaSharedMemory.status()]);
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return {
    clientHeld: heapUsed + external,
    clientRss: residentBytes('self'),
    serverRss: serverPid === undefined ? undefined : residentBytes(serverPid),
    // Entries are named after their maker's process; other programs may come and go meanwhile.
    sharedMemoryFiles: readdirSync('/dev/shm').filter((name) => name.includes(`.${process.pid}.`)).length,
    regions: system.length + cuda.length,
  };
}

export interface Readings {
  /** Before the pool was opened. */
  readonly before: Footprint;
  /** At the ends of equal parts of the run, the first of which lets pools, lanes and the server's arenas get their size. */
  readonly during: readonly Footprint[];
  /** After the pool was closed. */
  readonly closed: Footprint;
}

/**
 * What grew, in words; empty when nothing did. Memory has grown when it did in every part of the run: a leak does, while
 * what an allocator or the collector does once does not count. Files and regions are counted exactly.
 *
 * @param messageBytes of one tensor where it travels in messages: those lie about in both processes for a while
 */
export function growth({ before, during, closed }: Readings, messageBytes = 0): string[] {
  const problems: string[] = [];
  const compare = (what: string, values: readonly (number | undefined)[], slack: number) => {
    const known = values.filter((value) => value !== undefined);
    const steps = known.slice(1).map((value, i) => value - (known[i] ?? value));
    if (steps.length > 0 && Math.min(...steps) * steps.length > slack)
      problems.push(`${what} grew: ${known.join(', ')}`);
  };
  const count = (what: string, from: number | undefined, to: number | undefined) => {
    if (from !== undefined && to !== undefined && to > from) problems.push(`${what} grew from ${from} to ${to}`);
  };
  const messages = 4 * messageBytes;
  const [first, last] = [during[0], during.at(-1)];
  compare(
    "the client's memory",
    during.map((reading) => reading.clientHeld),
    HELD_SLACK_BYTES + messages,
  );
  compare(
    "the client's resident memory",
    during.map((reading) => reading.clientRss),
    RSS_SLACK_BYTES + messages,
  );
  compare(
    "the server's resident memory",
    during.map((reading) => reading.serverRss),
    RSS_SLACK_BYTES + messages,
  );
  count('entries of ours in /dev/shm', first?.sharedMemoryFiles, last?.sharedMemoryFiles);
  count("the server's list of regions", first?.regions, last?.regions);
  count('after close, entries of ours in /dev/shm', before.sharedMemoryFiles, closed.sharedMemoryFiles);
  count("after close, the server's list of regions", before.regions, closed.regions);
  return problems;
}
