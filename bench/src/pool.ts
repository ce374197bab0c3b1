/**
 * What a pool of `@zerohop/shm-pool` costs and keeps, on a real server with the native backend, and NVIDIA's Python client
 * used as its examples use shared memory beside it:
 *
 *     node dist/pool.js [--transport system|cuda] [--rounds N] [--block N] [--requests N] [--restarts N] [--duration MS]
 *       [--four-k] [--out FILE]
 *
 * `--requests` (default 1,000,000) is the length of the run in which nothing may grow, `--four-k` adds the comparison with
 * 99.5 MB tensors. One JSON result (default bench/results/<date>-<machine>-pool-<transport>.json); ends with status 1 when
 * something grew, an answer was wrong or a figure is not what was asked.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { availability } from '@zerohop/cuda-native';
import { exitOnSignals, runProgram } from './child.js';
import { describeCommit, describeMachine } from './machine.js';
import { measurePythonExamples, peerVersions } from './peers.js';
import { runFlat } from './pool/flat.js';
import { measureFromReady } from './pool/ready.js';
import { byteLengthOf, type PoolFigures, type PoolSpec } from './pool/spec.js';
import type { Measurement } from './results.js';
import { runRounds } from './rounds.js';
import { ROOT, startBenchServer } from './server.js';
import { medianInterval } from './statistics.js';

const ROW_TIMEOUT_MS = 120_000;
const FIGURES = fileURLToPath(new URL('./pool/figures.js', import.meta.url));
const MEASURE = fileURLToPath(new URL('./measure.js', import.meta.url));

const SMALL = { model: 'identity_small', inputShape: [16], outputShape: [16] };
const FOUR_K = { model: 'reduce_4k', inputShape: [1, 3, 2160, 3840], outputShape: [1000, 6] };

const { values: options } = parseArgs({
  options: {
    transport: { type: 'string' },
    rounds: { type: 'string', default: '12' },
    block: { type: 'string', default: '2000' },
    requests: { type: 'string', default: '1000000' },
    restarts: { type: 'string', default: '5' },
    duration: { type: 'string', default: '2000' },
    'four-k': { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});

const progress = (message: string) => process.stderr.write(`${message}\n`);

function chooseTransport(): 'system' | 'cuda' {
  const transport = options.transport ?? (availability().available ? 'cuda' : 'system');
  if (transport === 'system' || transport === 'cuda') return transport;
  throw new RangeError(`Expected system or cuda for --transport but received '${transport}'`);
}

/** Ours and the Python client on one server, in rounds; a ratio is taken within a round. */
async function compare(grpcUrl: string, transport: 'system' | 'cuda', work: typeof SMALL) {
  const [inputByteLength, outputByteLength] = [byteLengthOf(work.inputShape), byteLengthOf(work.outputShape)];
  const common = {
    ...{ grpcUrl, transport, ...work, inputByteLength, outputByteLength },
    ...{ inFlight: 1, warmUpMs: 1500, durationMs: Number(options.duration), minRequests: 3 },
  };
  const measure = async (client: 'pool' | 'python'): Promise<Measurement> => {
    if (client === 'python') return measurePythonExamples(common, ROW_TIMEOUT_MS);
    const spec = JSON.stringify({ ...common, client, work: 'write+infer+read' });
    return JSON.parse(
      await runProgram(process.execPath, [MEASURE, spec], { timeoutMs: ROW_TIMEOUT_MS }),
    ) as Measurement;
  };
  const { rounds, failures } = await runRounds(['pool', 'python'] as const, {
    nameOf: (client) => `${work.model}, ${client}`,
    roundsOf: () => Number(options.rounds),
    timeLimitMs: 3_600_000,
    measure,
    onProgress: progress,
  });
  const [ours = [], theirs = []] = [rounds.get('pool'), rounds.get('python')];
  const ratios = theirs.flatMap(({ round, p50Us }) => {
    const same = ours.find((each) => each.round === round);
    return same === undefined ? [] : [p50Us / same.p50Us];
  });
  return {
    model: work.model,
    ...{ inputByteLength, outputByteLength },
    ours,
    python: theirs,
    /** How many times as long a request takes with the Python client: the median of the rounds, at least 95 % sure. */
    ratioP50: ratios.length === 0 ? undefined : medianInterval(ratios),
    notRun: [...failures].map(([client, reason]) => ({ client, reason })),
  };
}

/** What was asked of a pool. */
function verdicts(figures: PoolFigures, fromReady: readonly { opened: number; survived: number }[]) {
  const worst = Math.max(...fromReady.flatMap(({ opened, survived }) => [opened, survived]));
  const verdict = (asked: string, value: number, met: boolean) => ({ asked, value, met });
  const { acquireReleaseUs, garbageBytes, cpuUs, registerCalls, servedInOrder } = figures;
  return [
    verdict('acquire and release < 1 us', acquireReleaseUs.median, acquireReleaseUs.median < 1),
    verdict(
      'garbage of the pool < 2048 bytes a request',
      garbageBytes.ofThePool.median,
      garbageBytes.ofThePool.median < 2048,
    ),
    verdict('CPU of the pool <= 5 us a request', cpuUs.ofThePoolAlone.median, cpuUs.ofThePoolAlone.median <= 5),
    verdict('no register calls', registerCalls, registerCalls === 0),
    verdict('32 callers served in order', servedInOrder.outOfOrder, servedInOrder.outOfOrder === 0),
    verdict('from ready to the first good answer < 1000 ms', worst, worst < 1000),
  ];
}

async function main(): Promise<void> {
  const machine = await describeMachine();
  const commit = await describeCommit(ROOT);
  const transport = chooseTransport();
  const works = options['four-k'] ? [SMALL, FOUR_K] : [SMALL];
  const rounds = Number(options.rounds);
  const server = await startBenchServer(
    works.map(({ model }) => model),
    progress,
  );
  let results: object;
  let problems: readonly string[];
  try {
    const { version } = (await (await fetch(`${server.httpUrl}/v2`)).json()) as { version: string };
    const spec: PoolSpec = { grpcUrl: server.grpcUrl, transport, ...SMALL, rounds, requests: Number(options.block) };
    const args = [
      '--expose-gc',
      '--min-semi-space-size=512',
      '--max-semi-space-size=512',
      FIGURES,
      JSON.stringify(spec),
    ];
    const figures = JSON.parse(await runProgram(process.execPath, args, { timeoutMs: 1_200_000 })) as PoolFigures;
    progress(`figures: ${JSON.stringify(figures)}`);
    const comparisons = [];
    for (const work of works) comparisons.push(await compare(server.grpcUrl, transport, work));
    const flat = await runFlat(server, spec, Number(options.requests));
    progress(
      `${flat.requests} requests in ${flat.seconds.toFixed(0)} s: ${flat.problems.join('; ') || 'nothing grew'}`,
    );
    const fromReadyMs = await measureFromReady(spec, Number(options.restarts));
    const asked = verdicts(figures, fromReadyMs);
    problems = [...flat.problems, ...asked.filter(({ met }) => !met).map((each) => `${each.asked}: ${each.value}`)];
    results = {
      ...{ kind: 'pool', date: new Date().toISOString().slice(0, 10), commit, machine },
      versions: { node: process.version, tritonserver: version, ...(await peerVersions()) },
      ...{ transport, work: SMALL, asked, figures, fromReadyMs, comparisons, flat, problems },
    };
  } finally {
    await server.stop();
  }
  const date = new Date().toISOString().slice(0, 10);
  const file = options.out ?? join(ROOT, 'bench/results', `${date}-${machine.name}-pool-${transport}.json`);
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
  process.stdout.write(`written to ${file}\n`);
  for (const problem of problems) progress(problem);
  if (problems.length > 0) process.exitCode = 1;
}

exitOnSignals();
try {
  await main();
} catch (error) {
  process.stderr.write(`pool: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
