/**
 * Long runs of `@zerohop/triton-client` against a real server; ends with status 1 when something grew, was never answered
 * or failed without a code:
 *
 *     node --expose-gc dist/soak.js --kind requests|connections|restarts [--count N] [--every MS] [--out FILE]
 *
 * `requests`: N requests of all sorts (default 1,000,000). `connections`: N clients that connect and close (default
 * 10,000). `restarts`: a server killed N times (default 30), every 20 s.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitOnSignals } from './child.js';
import { describeCommit, describeMachine } from './machine.js';
import { ROOT, startBenchServer } from './server.js';
import { soakConnections } from './soak/connections.js';
import { type SoakReport, soakRequests } from './soak/requests.js';
import { soakRestarts } from './soak/restarts.js';

const progress = (text: string) => process.stderr.write(`${text}\n`);

const { values: options } = parseArgs({
  options: {
    kind: { type: 'string' },
    count: { type: 'string' },
    every: { type: 'string', default: '20000' },
    out: { type: 'string' },
  },
});

async function run(): Promise<SoakReport> {
  const count = (fallback: number) => Number(options.count ?? fallback);
  if (options.kind === 'restarts') return soakRestarts(count(30), Number(options.every), progress);
  if (options.kind !== 'requests' && options.kind !== 'connections') {
    throw new RangeError(`Expected requests, connections or restarts for --kind but received '${options.kind}'`);
  }
  if (options.kind === 'requests') return soakRequests(count(1_000_000), progress);
  const server = await startBenchServer(['py_identity_small'], progress);
  try {
    return await soakConnections([server.grpcUrl, server.httpUrl], count(10_000), progress);
  } finally {
    await server.stop();
  }
}

exitOnSignals();
try {
  if (globalThis.gc === undefined) throw new Error('start this with node --expose-gc');
  const machine = await describeMachine();
  const commit = await describeCommit(ROOT);
  const began = performance.now();
  const report = await run();
  const date = new Date().toISOString().slice(0, 10);
  const results = {
    kind: `soak-${options.kind}`,
    date,
    commit,
    machine,
    versions: { node: process.version },
    seconds: Math.round((performance.now() - began) / 1000),
    ...report,
  };
  const file = options.out ?? join(ROOT, 'bench/results', `${date}-${machine.name}-soak-${options.kind}.json`);
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
  process.stdout.write(`${JSON.stringify({ counts: report.counts, settlements: report.settlements })}\n`);
  for (const problem of report.problems) process.stderr.write(`soak: ${problem}\n`);
  if (report.problems.length > 0) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`soak: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
