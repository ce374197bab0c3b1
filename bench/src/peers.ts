import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './child.js';
import type { MeasureSpec } from './measure-spec.js';
import type { Measurement } from './results.js';
import { ROOT } from './server.js';

/** perf_analyzer's windows: it reports once three agree, and any three do under our stability setting. */
const WINDOWS = 3;

/** A peer's program, from its environment variable or from where set-up puts it. */
function find(variable: string, places: readonly string[]): string {
  const path = process.env[variable] ?? places.map((place) => join(ROOT, place)).find((place) => existsSync(place));
  if (path === undefined) throw new Error(`not installed here; ${variable} names one elsewhere`);
  return path;
}

export const perfAnalyzer = () =>
  find('ZEROHOP_PERF_ANALYZER', ['peers/bin/perf_analyzer', '.zerohop/peers/bin/perf_analyzer']);
export const peersPython = () => find('ZEROHOP_PEERS_PYTHON', ['peers/bin/python', '.zerohop/peers/bin/python']);

/** What the peers need of a measurement. */
type PeerSpec = Omit<MeasureSpec, 'client' | 'work'> & { readonly httpUrl?: string };

/** NVIDIA's C++ load generator, synchronous calls, inputs written once, for as long as ours is measured. */
export async function measurePerfAnalyzer(spec: PeerSpec, timeoutMs: number): Promise<Measurement> {
  const scratch = mkdtempSync(join(tmpdir(), 'zerohop-bench-'));
  try {
    const csv = join(scratch, 'report.csv');
    const stdout = await runProgram(
      perfAnalyzer(),
      [
        ...['-m', spec.model, '-u', new URL(spec.grpcUrl).host, '-i', 'grpc', '--sync', '-f', csv],
        ...['--shared-memory', spec.transport === 'bytes' ? 'none' : spec.transport],
        ...['--output-shared-memory-size', String(spec.outputByteLength)],
        ...['--concurrency-range', String(spec.inFlight), '--percentile', '50'],
        ...['--measurement-interval', String(Math.ceil(spec.durationMs / WINDOWS))],
        ...['--max-trials', String(WINDOWS), '--stability-percentage', '999'],
      ],
      { timeoutMs },
    );
    return parseReport(readFileSync(csv, 'utf8'), stdout);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Its CSV: a line of names, a line of values; latencies in whole microseconds. The count is in its summary alone. */
export function parseReport(csv: string, summary: string): Measurement {
  const [header = '', line = ''] = csv.trim().split('\n');
  const values = new Map(header.split(',').map((name, i) => [name.trim(), Number(line.split(',')[i])]));
  const field = (name: string) => {
    const value = values.get(name);
    if (value === undefined || !Number.isFinite(value)) throw new Error(`perf_analyzer reported no '${name}'`);
    return value;
  };
  return {
    requests: Number(summary.match(/Request count: (\d+)/)?.[1] ?? 0),
    p50Us: field('p50 latency'),
    p99Us: field('p99 latency'),
    requestsPerSecond: field('Inferences/Second'),
  };
}

/** What python_client.py is told beside what the others are. */
export type PythonSpec = PeerSpec & { readonly protocol?: 'grpc' | 'http'; readonly look?: boolean };

/** NVIDIA's Python client, one request in flight. */
export async function measurePython(spec: PythonSpec, timeoutMs: number): Promise<Measurement> {
  const script = join(ROOT, 'bench', 'peers', 'python_client.py');
  const stdout = await runProgram(peersPython(), [script, JSON.stringify(spec)], { timeoutMs });
  return JSON.parse(stdout) as Measurement;
}

/** NVIDIA's Python client as its shared-memory examples use it: regions of its own for every request. */
export async function measurePythonExamples(spec: PeerSpec, timeoutMs: number): Promise<Measurement> {
  const script = join(ROOT, 'bench', 'peers', 'python_examples.py');
  const stdout = await runProgram(peersPython(), [script, JSON.stringify(spec)], { timeoutMs });
  return JSON.parse(stdout) as Measurement;
}

/** Versions of the peers that are here, for the results file. */
export async function peerVersions(): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  const ask = async (name: string, version: () => Promise<string>) => {
    try {
      versions[name] = (await version()).trim();
    } catch (error) {
      versions[name] = error instanceof Error ? error.message : String(error);
    }
  };
  const wheel = (name: string) =>
    runProgram(peersPython(), ['-c', `import importlib.metadata as m; print(m.version("${name}"))`], {
      timeoutMs: 20_000,
    });
  await ask('perf_analyzer', async () => {
    // It writes its version to stderr; released binaries say 0.0.0 and a commit, so the wheel's version goes before it.
    const said = await runProgram('/bin/sh', ['-c', '"$0" --version 2>&1', perfAnalyzer()], { timeoutMs: 20_000 });
    const released = await wheel('perf-analyzer').catch(() => '');
    return [released.trim(), said.trim().replace(/^Perf Analyzer Version\s+/i, '')].filter(Boolean).join(', ');
  });
  await ask('tritonclient', () => wheel('tritonclient'));
  return versions;
}
