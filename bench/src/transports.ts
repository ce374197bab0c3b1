/**
 * What one request costs, by client and transport, with the peers in the same run:
 *
 *     node dist/transports.js [--rounds N] [--duration MS] [--time-limit S] [--tables ID[=ROUNDS],…] [--transports T,…]
 *                             [--out FILE] [--url GRPC --http-url HTTP]
 *
 * Starts a server with the benchmark's models unless --url names one. Writes the results as JSON (default
 * bench/results/<date>-<machine>-transports.json) and prints them as Markdown.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { availability } from '@zerohop/cuda-native';
import { exitOnSignals, runProgram } from './child.js';
import { describeCommit, describeMachine } from './machine.js';
import { toMarkdown } from './markdown.js';
import type { MeasureSpec } from './measure-spec.js';
import { measurePerfAnalyzer, measurePython, peerVersions } from './peers.js';
import type { Measurement, Round, TransportResults } from './results.js';
import { runRounds } from './rounds.js';
import { type BenchServer, modelTotals, ROOT, serverTimes, startBenchServer } from './server.js';
import { caseName, ratiosOf, summariseRow } from './summarise.js';
import { byteLength, type Case, casesOf, isGoal, TABLES, type Table, type Transport } from './tables.js';

/** A row that takes longer is broken: the slowest, a 4K tensor in the message, takes seconds. */
const ROW_TIMEOUT_MS = 90_000;
const WARM_UP_MS = 700;
/** The rows that a goal is set for have this many rounds more. */
const GOAL_ROUNDS = 2;
const MEASURE = fileURLToPath(new URL('./measure.js', import.meta.url));

const progress = (message: string) => process.stderr.write(`${message}\n`);

function specOf(c: Case, server: BenchServer, durationMs: number): MeasureSpec {
  return {
    client: c.client === 'unary' ? 'unary' : 'pool',
    grpcUrl: server.grpcUrl,
    model: c.table.model,
    transport: c.transport,
    work: c.work,
    inputShape: c.table.inputShape,
    inputByteLength: byteLength(c.table.inputShape),
    outputByteLength: byteLength(c.table.outputShape),
    inFlight: c.inFlight,
    warmUpMs: Math.min(WARM_UP_MS, durationMs),
    durationMs,
    minRequests: 3,
  };
}

function measureOnce(c: Case, spec: MeasureSpec): Promise<Measurement> {
  switch (c.client) {
    case 'perf_analyzer':
      return measurePerfAnalyzer(spec, ROW_TIMEOUT_MS);
    case 'python':
      return measurePython(spec, ROW_TIMEOUT_MS);
    case 'pool':
    case 'unary':
      return runProgram(process.execPath, [MEASURE, JSON.stringify(spec)], { timeoutMs: ROW_TIMEOUT_MS }).then(
        (stdout) => JSON.parse(stdout) as Measurement,
      );
  }
}

async function measure(c: Case, server: BenchServer, durationMs: number): Promise<Omit<Round, 'round'>> {
  const before = await modelTotals(server.httpUrl, c.table.model);
  const measurement = await measureOnce(c, specOf(c, server, durationMs));
  const times = serverTimes(before, await modelTotals(server.httpUrl, c.table.model));
  return { ...measurement, ...(times && { server: times }) };
}

function usableTransports(): { transports: Transport[]; why?: string } {
  const cuda = availability();
  if (cuda.available) return { transports: ['cuda', 'system', 'bytes'] };
  return { transports: ['system', 'bytes'], why: cuda.message };
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    duration: { type: 'string', default: '1500' },
    'time-limit': { type: 'string', default: '3600' },
    tables: { type: 'string', default: TABLES.map((table) => table.id).join(',') },
    transports: { type: 'string' },
    out: { type: 'string' },
    url: { type: 'string' },
    'http-url': { type: 'string' },
  },
});

async function openServer(models: readonly string[]): Promise<BenchServer> {
  if (options.url === undefined) return startBenchServer(models, progress);
  if (options['http-url'] === undefined) throw new Error('--url needs --http-url beside it, for the statistics');
  return {
    grpcUrl: options.url,
    httpUrl: options['http-url'],
    pid: undefined,
    stop: async () => {},
  };
}

async function serverVersion(httpUrl: string): Promise<string> {
  const { version } = (await (await fetch(`${httpUrl}/v2`)).json()) as { version: string };
  return version;
}

/** `ID` or `ID=ROUNDS`. */
function chooseTable(text: string, rounds: number): [Table, number] {
  const [id, own] = text.split('=');
  const table = TABLES.find((candidate) => candidate.id === id);
  if (table === undefined) {
    throw new RangeError(
      `Expected one of ${TABLES.map((each) => each.id).join(', ')} for --tables but received '${id}'`,
    );
  }
  return [table, own === undefined ? rounds : Number(own)];
}

async function main(): Promise<void> {
  const machine = await describeMachine();
  const usable = usableTransports();
  const wanted = options.transports?.split(',') ?? usable.transports;
  const transports = usable.transports.filter((transport) => wanted.includes(transport));
  const chosen = new Map(options.tables.split(',').map((text) => chooseTable(text, Number(options.rounds))));
  const tables = [...chosen.keys()];
  const cases = tables.flatMap((table) => casesOf(table, transports));
  const durationMs = Number(options.duration);

  const server = await openServer(tables.map((table) => table.model));
  try {
    const outcome = await runRounds(cases, {
      nameOf: caseName,
      roundsOf: (c) => (chosen.get(c.table) ?? 0) + (isGoal(c) ? GOAL_ROUNDS : 0),
      timeLimitMs: Number(options['time-limit']) * 1000,
      measure: (c) => measure(c, server, durationMs),
      onProgress: progress,
    });
    const rows = cases.flatMap((c) => {
      const rounds = outcome.rounds.get(c);
      return rounds === undefined ? [] : [summariseRow(c, rounds)];
    });
    const date = new Date().toISOString().slice(0, 10);
    const results: TransportResults = {
      kind: 'transports',
      date,
      commit: await describeCommit(ROOT),
      machine,
      versions: { node: process.version, tritonserver: await serverVersion(server.httpUrl), ...(await peerVersions()) },
      parameters: { durationMs, warmUpMs: Math.min(WARM_UP_MS, durationMs), complete: outcome.complete },
      tables: tables.map(({ id, title }) => ({ id, title })),
      rows,
      ratios: ratiosOf(rows),
      skipped: [
        ...(usable.why === undefined ? [] : [{ row: 'every CUDA row', reason: usable.why }]),
        ...[...outcome.failures].map(([c, reason]) => ({ row: caseName(c), reason })),
      ],
    };
    const file = options.out ?? join(ROOT, 'bench', 'results', `${date}-${machine.name}-transports.json`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
    process.stdout.write(toMarkdown(results));
    progress(`written to ${file}`);
  } finally {
    await server.stop();
  }
}

exitOnSignals();
try {
  await main();
} catch (error) {
  process.stderr.write(`transports: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
