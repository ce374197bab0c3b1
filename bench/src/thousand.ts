/**
 * Many requests in a row on each transport, each with its own pattern: acquire → write → infer → check the first and
 * last output values → release; then nothing may have grown:
 *
 *     node dist/thousand.js [--model reduce_64] [--counts cuda=1000,system=1000,bytes=1000] [--out FILE]
 *
 * Transports that this machine has not are left out and named. Ends with status 1 when an answer was wrong or memory,
 * /dev/shm or the server's list of regions grew.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { availability } from '@zerohop/cuda-native';
import { installShutdown, TensorPool } from '@zerohop/shm-pool';
import { TritonClient } from '@zerohop/triton-client';
import { exitOnSignals } from './child.js';
import { describeCommit, describeMachine } from './machine.js';
import { type BenchServer, ROOT, startBenchServer } from './server.js';
import { spread } from './statistics.js';
import type { Transport } from './tables.js';
import { writePattern } from './windows.js';

const SLOTS = 2;
/** Requests before the first reading: pools, lanes and the server's arenas have their size by then. */
const SETTLING_SHARE = 0.2;
/** What resident memory may move by between two readings without anything growing: allocator arenas, JIT code. */
const RSS_SLACK_BYTES = 48 * 2 ** 20;

interface Footprint {
  readonly clientRss: number;
  readonly serverRss: number | undefined;
  readonly sharedMemoryFiles: number;
  readonly regions: number;
}

interface TransportRun {
  readonly transport: Transport;
  readonly requests: number;
  readonly seconds: number;
  readonly requestUs: { readonly median: number; readonly min: number; readonly max: number };
  readonly settled: Footprint;
  readonly end: Footprint;
  readonly closed: Footprint;
  /** Empty when all is well. */
  readonly problems: readonly string[];
}

const collectGarbage = exposeGc();

function exposeGc(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Resident bytes, from /proc. */
function residentBytes(pid: number | 'self'): number {
  const kibibytes = readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmRSS:\s+(\d+) kB$/m)?.[1];
  return Number(kibibytes) * 1024;
}

async function footprint(client: TritonClient, server: BenchServer): Promise<Footprint> {
  collectGarbage();
  // ArrayBuffers of messages are freed by a task after the collection.
  await new Promise((resolve) => setImmediate(resolve));
  const [system, cuda] = await Promise.all([client.systemSharedMemory.status(), client.cudaSharedMemory.status()]);
  return {
    clientRss: residentBytes('self'),
    serverRss: server.pid === undefined ? undefined : residentBytes(server.pid),
    // Entries are named after their maker's process; other programs may come and go meanwhile.
    sharedMemoryFiles: readdirSync('/dev/shm').filter((name) => name.includes(`.${process.pid}.`)).length,
    regions: system.length + cuda.length,
  };
}

async function runTransport(
  transport: Transport,
  requests: number,
  model: string,
  server: BenchServer,
): Promise<TransportRun> {
  const removeExit = exitOnSignals();
  const client = new TritonClient(server.grpcUrl);
  const problems: string[] = [];
  const latencies: number[] = [];
  try {
    const before = await footprint(client, server);
    const pool = await TensorPool.open(client, {
      model,
      slots: SLOTS,
      transport,
      ...(transport === 'cuda' && { serverDeviceId: 0 }),
    });
    let messageSlack = 0;
    let settled = before;
    let end = before;
    removeExit();
    const removeShutdown = installShutdown(pool);
    const started = performance.now();
    try {
      const input = new Float32Array(pool.input('INPUT0').shape.reduce((a, b) => a * b, 1));
      // Messages of this size live until the collector has run, in both processes.
      if (transport === 'bytes') messageSlack = 4 * input.byteLength;
      const settledAfter = Math.ceil(requests * SETTLING_SHARE);
      for (let i = 0; i < requests; i++) {
        if (i === settledAfter) settled = await footprint(client, server);
        const begun = performance.now();
        const probes = writePattern(input, i);
        const lease = await pool.acquire();
        await lease.input('INPUT0').write(input);
        const reply = await lease.infer();
        const output = await reply.output<'FP32'>('OUTPUT0').read();
        for (const { index, expected } of probes) {
          if (output[index] !== expected) {
            problems.push(`request ${i}: output value ${index} is ${output[index]}, expected ${expected}`);
          }
        }
        lease.release();
        latencies.push((performance.now() - begun) * 1000);
      }
      end = await footprint(client, server);
    } finally {
      removeShutdown();
      await pool.close();
    }
    const seconds = (performance.now() - started) / 1000;
    const closed = await footprint(client, server);
    problems.push(...growth({ before, settled, end, closed }, RSS_SLACK_BYTES + messageSlack));
    return { transport, requests, seconds, requestUs: spread(latencies), settled, end, closed, problems };
  } finally {
    await client.close();
  }
}

interface Readings {
  readonly before: Footprint;
  readonly settled: Footprint;
  readonly end: Footprint;
  readonly closed: Footprint;
}

/** What is more than it was, in words. */
function growth({ before, settled, end, closed }: Readings, slackBytes: number): string[] {
  const problems: string[] = [];
  const compare = (what: string, from: number | undefined, to: number | undefined, slack: number) => {
    if (from !== undefined && to !== undefined && to - from > slack)
      problems.push(`${what} grew from ${from} to ${to}`);
  };
  compare("the client's resident memory", settled.clientRss, end.clientRss, slackBytes);
  compare("the server's resident memory", settled.serverRss, end.serverRss, slackBytes);
  compare('entries of ours in /dev/shm', settled.sharedMemoryFiles, end.sharedMemoryFiles, 0);
  compare("the server's list of regions", settled.regions, end.regions, 0);
  compare('after close, entries of ours in /dev/shm', before.sharedMemoryFiles, closed.sharedMemoryFiles, 0);
  compare("after close, the server's list of regions", before.regions, closed.regions, 0);
  return problems;
}

function parseCounts(text: string): { transport: Transport; requests: number }[] {
  return text.split(',').map((part) => {
    const [transport = '', count = ''] = part.split('=');
    const requests = Number(count);
    if (!['cuda', 'system', 'bytes'].includes(transport) || !Number.isInteger(requests) || requests < 2) {
      throw new RangeError(`Expected TRANSPORT=COUNT for --counts but received '${part}'`);
    }
    return { transport: transport as Transport, requests };
  });
}

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'reduce_64' },
    counts: { type: 'string', default: 'cuda=1000,system=1000,bytes=1000' },
    out: { type: 'string' },
  },
});

async function main(): Promise<void> {
  const cuda = availability();
  const server = await startBenchServer([options.model], (message) => process.stderr.write(`${message}\n`));
  const runs: TransportRun[] = [];
  const skipped: { transport: Transport; reason: string }[] = [];
  try {
    for (const { transport, requests } of parseCounts(options.counts)) {
      if (transport === 'cuda' && !cuda.available) {
        skipped.push({ transport, reason: cuda.message });
        continue;
      }
      const run = await runTransport(transport, requests, options.model, server);
      runs.push(run);
      const verdict = run.problems.length === 0 ? 'all right' : `${run.problems.length} problems: ${run.problems[0]}`;
      process.stderr.write(`${transport}: ${requests} requests in ${run.seconds.toFixed(1)} s: ${verdict}\n`);
    }
  } finally {
    await server.stop();
  }
  const results = {
    kind: 'thousand',
    date: new Date().toISOString().slice(0, 10),
    commit: await describeCommit(ROOT),
    machine: await describeMachine(),
    node: process.version,
    model: options.model,
    runs,
    skipped,
  };
  const text = `${JSON.stringify(results, null, 1)}\n`;
  if (options.out === undefined) process.stdout.write(text);
  else writeFileSync(options.out, text);
  if (runs.some((run) => run.problems.length > 0)) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`thousand: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
