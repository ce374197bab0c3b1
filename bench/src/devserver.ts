/**
 * What @zerohop/triton-devserver can carry: small requests over lanes from this process to a server in another, what the
 * server holds after many of them, and what an image through shared memory takes beside the region:
 *
 *     node dist/devserver.js [--duration MS] [--rounds N] [--requests N] [--out FILE]
 *
 * Ends with status 1 when one of LIMITS is missed.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type PreparedRequest, region, TritonClient, tensor } from '@zerohop/triton-client';
import { exitOnSignals } from './child.js';
import type { Question, ServerMemory } from './devserver/serve.js';
import { measureLoop } from './loop.js';
import { describeCommit, describeMachine } from './machine.js';
import { openRegion, outputOffset } from './region.js';
import { ROOT } from './server.js';
import { spread } from './statistics.js';

const MIB = 2 ** 20;
const LIMITS = {
  requestsPerSecond: 5000,
  /** Bytes of JavaScript more after the last part of the run than after the first. */
  heldGrowth: MIB,
  /** Bytes beside the region, at their peak. */
  imageGrowth: 5 * MIB,
} as const;
const IN_FLIGHT = 16;
const PARTS = 4;
const WARM_UP_MS = 1500;
const SMALL = [1, 4];
const IMAGE = [3, 2160 * 3840];
const elements = (shape: readonly number[]) => shape.reduce((product, dimension) => product * dimension, 1);

const { values: options } = parseArgs({
  options: {
    duration: { type: 'string', default: '3000' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '100000' },
    out: { type: 'string' },
  },
});

async function ask(server: ChildProcess, question: Question): Promise<ServerMemory> {
  server.send(question);
  const [answer] = (await once(server, 'message')) as [ServerMemory];
  return answer;
}

async function throughput(server: ChildProcess, request: PreparedRequest) {
  const rounds = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    const before = await ask(server, 'memory');
    const run = { inFlight: IN_FLIGHT, durationMs: Number(options.duration), minRequests: 1 };
    // The warm-up is a run of its own, so that the server's time is that of what was measured.
    await measureLoop(() => request.infer(), { ...run, warmUpMs: 0, durationMs: WARM_UP_MS });
    const warm = await ask(server, 'memory');
    const measured = await measureLoop(() => request.infer(), { ...run, warmUpMs: 0 });
    const after = await ask(server, 'memory');
    const heldGrowth = after.held - before.held;
    rounds.push({ ...measured, serverCpuUs: (after.cpuUs - warm.cpuUs) / measured.requests, heldGrowth });
  }
  return { rounds, requestsPerSecond: spread(rounds.map(({ requestsPerSecond }) => requestsPerSecond)) };
}

/** Readings of the server at the ends of equal parts of the run. */
async function manyRequests(server: ChildProcess, request: PreparedRequest) {
  const readings: ServerMemory[] = [await ask(server, 'memory')];
  const part = Math.ceil(Number(options.requests) / PARTS);
  for (let done = 0; done < PARTS; done++) {
    let left = part;
    const lane = async () => {
      while (left > 0) {
        left -= 1;
        await request.infer();
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
    readings.push(await ask(server, 'memory'));
  }
  const [, first] = readings;
  const last = readings.at(-1);
  return { requests: part * PARTS, readings, heldGrowth: (last?.held ?? Number.NaN) - (first?.held ?? Number.NaN) };
}

async function image(server: ChildProcess, client: TritonClient) {
  const input = new Float32Array(elements(IMAGE)).fill(7);
  const memory = await openRegion(client, {
    purpose: 'devserver-image',
    transport: 'system',
    input,
    outputByteLength: input.byteLength,
  });
  try {
    const request = client.prepare('identity', placed(memory.name, IMAGE));
    const untouched = await ask(server, 'peak-from-here');
    // Maps the region's pages; what it takes beside them stays.
    await request.infer();
    const mapped = await ask(server, 'peak-from-here');
    await request.infer();
    const after = await ask(server, 'memory');
    const bytes = new Float32Array(memory.firstBytes?.slice().buffer ?? new ArrayBuffer(4));
    return {
      bytes: input.byteLength,
      firstValue: bytes[0],
      readings: [untouched, mapped, after],
      anonymousGrowth: after.anonymous - untouched.anonymous,
      peakGrowth: after.peak - mapped.resident,
    };
  } finally {
    await memory.close();
  }
}

function placed(name: string, shape: readonly number[]) {
  const byteLength = elements(shape) * 4;
  return {
    inputs: { INPUT0: region(name, { datatype: 'FP32', shape }) },
    outputs: { OUTPUT0: { region: name, byteOffset: outputOffset(byteLength), byteLength } },
  };
}

async function main(): Promise<void> {
  exitOnSignals();
  const loadBefore = loadavg();
  const server = fork(fileURLToPath(new URL('./devserver/serve.js', import.meta.url)), { execArgv: ['--expose-gc'] });
  const [url] = (await once(server, 'message')) as [string];
  const client = new TritonClient(url);
  try {
    const values = Float32Array.from({ length: elements(SMALL) }, (_, at) => at);
    const small = await openRegion(client, {
      purpose: 'devserver-small',
      transport: 'system',
      input: values,
      outputByteLength: values.byteLength,
    });
    const inMessage = client.prepare('identity', { inputs: { INPUT0: tensor('FP32', SMALL, values) } });
    const inRegion = client.prepare('identity', placed(small.name, SMALL));
    const rows = { message: await throughput(server, inMessage), region: await throughput(server, inRegion) };
    const many = await manyRequests(server, inMessage);
    await small.close();
    const large = await image(server, client);
    const problems = [
      ...Object.entries(rows).flatMap(([name, { requestsPerSecond }]) =>
        requestsPerSecond.median < LIMITS.requestsPerSecond ? [`${name}: ${requestsPerSecond.median} requests/s`] : [],
      ),
      ...(many.heldGrowth > LIMITS.heldGrowth ? [`${many.requests} requests: ${many.heldGrowth} bytes kept`] : []),
      ...(large.firstValue === 7 ? [] : [`image: the first value is ${large.firstValue}`]),
      ...(Math.max(large.anonymousGrowth, large.peakGrowth) < LIMITS.imageGrowth ? [] : ['image: takes memory']),
    ];
    const results = {
      kind: 'devserver',
      date: new Date().toISOString().slice(0, 10),
      commit: await describeCommit(ROOT),
      machine: await describeMachine(),
      node: process.version,
      /** Of the machine: 1, 5 and 15 minutes before it began, this run at its end. */
      load: { before: loadBefore, after: loadavg() },
      parameters: { inFlight: IN_FLIGHT, durationMs: Number(options.duration), limits: LIMITS },
      throughput: rows,
      many,
      image: large,
      problems,
    };
    const text = `${JSON.stringify(results, null, 1)}\n`;
    if (options.out === undefined) process.stdout.write(text);
    else writeFileSync(options.out, text);
    for (const problem of problems) process.stderr.write(`${problem}\n`);
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await client.close();
    server.disconnect();
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`devserver: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
