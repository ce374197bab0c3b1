/**
 * What `@zerohop/triton-client` costs beside its peers, in the same run:
 *
 *     node dist/client.js [--plan shared-memory|message] [--rounds N] [--duration MS] [--time-limit S] [--out FILE]
 *
 * `shared-memory` (the default) uses CUDA memory and the native backend where there is a GPU, else system memory and the
 * wheel's Python backend; `message` sends the 4K tensor itself. Writes the results as JSON (default
 * bench/results/<date>-<machine>-client-<plan>.json) and prints them as Markdown.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { availability } from '@zerohop/cuda-native';
import { exitOnSignals, runProgram } from './child.js';
import { byteLength, type Case, caseName, messagePlan, type Plan, sharedMemoryPlan } from './client/cases.js';
import { clientToMarkdown } from './client/markdown.js';
import { type ClientResults, type ClientRound, outcomeOf } from './client/results.js';
import type { ClientSpec, Urls } from './client/spec.js';
import { describeCommit, describeMachine } from './machine.js';
import { measurePerfAnalyzer, measurePython, peerVersions } from './peers.js';
import type { Measurement } from './results.js';
import { runRounds } from './rounds.js';
import { ROOT, startBenchServer } from './server.js';

const ROW_TIMEOUT_MS = 90_000;
/** Until V8 has compiled the path of a request: a second of requests one at a time. */
const WARM_UP_MS = 1500;
const MEASURE = fileURLToPath(new URL('./client/measure.js', import.meta.url));

const progress = (message: string) => process.stderr.write(`${message}\n`);

async function measure(c: Case, urls: Urls, durationMs: number): Promise<Measurement> {
  const spec: ClientSpec = {
    ...{ ...c, ...urls, durationMs, minRequests: 3 },
    warmUpMs: WARM_UP_MS,
  };
  if (c.client === 'perf_analyzer' || c.client.startsWith('python')) {
    const peer = {
      ...spec,
      transport: c.transport === 'message' ? ('bytes' as const) : c.transport,
      model: c.work.model,
      inputShape: c.work.inputShape,
      inputByteLength: byteLength(c.work.inputShape),
      outputByteLength: byteLength(c.work.outputShape),
    };
    if (c.client === 'perf_analyzer') return measurePerfAnalyzer(peer, ROW_TIMEOUT_MS);
    const protocol = c.client === 'python-http' ? 'http' : 'grpc';
    return measurePython({ ...peer, protocol, look: true }, ROW_TIMEOUT_MS);
  }
  const stdout = await runProgram(process.execPath, [MEASURE, JSON.stringify(spec)], { timeoutMs: ROW_TIMEOUT_MS });
  return JSON.parse(stdout) as Measurement;
}

const { values: options } = parseArgs({
  options: {
    plan: { type: 'string', default: 'shared-memory' },
    rounds: { type: 'string', default: '12' },
    duration: { type: 'string', default: '1000' },
    'time-limit': { type: 'string', default: '3600' },
    out: { type: 'string' },
  },
});

function choosePlan(name: string, hasGpu: boolean): Plan {
  if (name === 'shared-memory') return sharedMemoryPlan(hasGpu);
  if (name === 'message') return messagePlan();
  throw new RangeError(`Expected shared-memory or message for --plan but received '${name}'`);
}

async function main(): Promise<void> {
  const machine = await describeMachine();
  const { cases, comparisons } = choosePlan(options.plan, availability().available);
  const durationMs = Number(options.duration);
  const socketFolder = mkdtempSync(join(tmpdir(), 'zerohop-bench-'));
  const server = await startBenchServer([...new Set(cases.map((c) => c.work.model))], progress);
  const socket = cases.some((c) => c.client === 'socket')
    ? await startBenchServer([...new Set(cases.map((c) => c.work.model))], progress, join(socketFolder, 'grpc'))
    : undefined;
  try {
    const urls: Urls = {
      grpcUrl: server.grpcUrl,
      httpUrl: server.httpUrl,
      ...(socket && { socketUrl: socket.grpcUrl }),
    };
    const outcome = await runRounds(cases, {
      nameOf: caseName,
      roundsOf: () => Number(options.rounds),
      timeLimitMs: Number(options['time-limit']) * 1000,
      measure: (c) => measure(c, urls, durationMs),
      onProgress: progress,
    });
    const roundsOf = (c: Case): readonly ClientRound[] => {
      const found = [...outcome.rounds].find(([each]) => caseName(each) === caseName(c));
      return found?.[1] ?? [];
    };
    const date = new Date().toISOString().slice(0, 10);
    const { version } = (await (await fetch(`${server.httpUrl}/v2`)).json()) as { version: string };
    const results: ClientResults = {
      kind: 'client',
      date,
      commit: await describeCommit(ROOT),
      machine,
      versions: { node: process.version, tritonserver: version, ...(await peerVersions()) },
      parameters: { durationMs, warmUpMs: WARM_UP_MS, complete: outcome.complete },
      rows: cases.map((c) => ({ ...c, work: c.work.id, model: c.work.model, rounds: roundsOf(c) })),
      outcomes: comparisons.flatMap((comparison) => outcomeOf(comparison, roundsOf) ?? []),
      skipped: [...outcome.failures].map(([c, reason]) => ({ row: caseName(c), reason })),
    };
    const file = options.out ?? join(ROOT, 'bench/results', `${date}-${machine.name}-client-${options.plan}.json`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
    process.stdout.write(clientToMarkdown(results));
    progress(`written to ${file}`);
  } finally {
    await socket?.stop();
    await server.stop();
    rmSync(socketFolder, { recursive: true, force: true });
  }
}

exitOnSignals();
try {
  await main();
} catch (error) {
  process.stderr.write(`client: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
