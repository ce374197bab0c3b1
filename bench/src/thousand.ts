/**
 * Many requests in a row on each transport, each with its own pattern: acquire → write → infer → check the first and
 * last output values → release; nothing may have grown then (footprint.ts):
 *
 *     node dist/thousand.js [--model reduce_64] [--counts cuda=1000,system=1000,bytes=1000] [--out FILE]
 *
 * Transports that this machine has not are left out and named. Ends with status 1 when an answer was wrong or memory,
 * /dev/shm or the server's list of regions grew.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { availability } from '@zerohop/cuda-native';
import { installShutdown, TensorPool } from '@zerohop/shm-pool';
import { TritonClient } from '@zerohop/triton-client';
import { exitOnSignals, leaveSignal } from './child.js';
import { type Footprint, footprint, growth } from './footprint.js';
import { describeCommit, describeMachine } from './machine.js';
import { type BenchServer, ROOT, startBenchServer } from './server.js';
import { spread } from './statistics.js';
import type { Transport } from './tables.js';
import { writePattern } from './windows.js';

const SLOTS = 2;
/** Readings in a run, one at the end of each part. */
const PARTS = 4;

interface TransportRun {
  readonly transport: Transport;
  readonly requests: number;
  readonly seconds: number;
  readonly requestUs: { readonly median: number; readonly min: number; readonly max: number };
  /** At the ends of equal parts of the run. */
  readonly during: readonly Footprint[];
  readonly closed: Footprint;
  /** Empty when all is well. */
  readonly problems: readonly string[];
}

async function runTransport(
  transport: Transport,
  requests: number,
  model: string,
  server: BenchServer,
): Promise<TransportRun> {
  exitOnSignals();
  const client = new TritonClient(server.grpcUrl);
  const problems: string[] = [];
  const latencies: number[] = [];
  try {
    const before = await footprint(client, server.pid);
    const pool = await TensorPool.open(client, {
      model,
      slots: SLOTS,
      transport,
      ...(transport === 'cuda' && { serverDeviceId: 0 }),
    });
    const during: Footprint[] = [];
    let messageBytes = 0;
    const removeShutdown = installShutdown(pool);
    const endLeave = leaveSignal();
    const started = performance.now();
    try {
      const input = new Float32Array(pool.input('INPUT0').shape.reduce((a, b) => a * b, 1));
      if (transport === 'bytes') messageBytes = input.byteLength;
      const ends = Array.from({ length: PARTS }, (_, part) => Math.ceil(((part + 1) * requests) / PARTS));
      for (let i = 0; i < requests; i++) {
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
        if (ends.includes(i + 1)) during.push(await footprint(client, server.pid));
      }
    } finally {
      endLeave();
      removeShutdown();
      await pool.close();
    }
    const seconds = (performance.now() - started) / 1000;
    const closed = await footprint(client, server.pid);
    problems.push(...growth({ before, during, closed }, messageBytes));
    return { transport, requests, seconds, requestUs: spread(latencies), during, closed, problems };
  } finally {
    await client.close();
  }
}

function parseCounts(text: string): { transport: Transport; requests: number }[] {
  return text.split(',').map((part) => {
    const [transport = '', count = ''] = part.split('=');
    const requests = Number(count);
    if (!['cuda', 'system', 'bytes'].includes(transport) || !Number.isInteger(requests) || requests < PARTS) {
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
