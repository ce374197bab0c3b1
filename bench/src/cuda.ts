/**
 * The figures of @zerohop/cuda-native beside a C++ program on the same driver, and what the event loop and an import
 * cost:
 *
 *     node dist/cuda.js [--rounds 5] [--work 1] [--time-limit 3600]
 *         [--parts figures,import,loop,delays] [--out FILE]
 *
 * `delays` needs the fake driver in ZEROHOP_LIBCUDA and the addon's sources; the others take any driver. Ends with
 * status 1 when a limit was not met, which on the fake driver says little.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { availability } from '@zerohop/cuda-native';
import { Asked } from './cuda/asked.js';
import { compare } from './cuda/compare.js';
import { measureDelays, measureLoop } from './cuda/delays.js';
import { figures } from './cuda/figures.js';
import { measureImport } from './cuda/import-time.js';
import { cudaToMarkdown } from './cuda/markdown.js';
import type { CudaResults } from './cuda/results.js';
import { describeCommit, describeMachine } from './machine.js';
import { ROOT } from './server.js';

const LOOP_LIMIT_MS = 5;
const image = join(ROOT, 'packages/cuda-native/test/fixtures/kernels.fatbin');
const peer = join(ROOT, 'bench/cuda/build/cuda-peer');
const table = join(ROOT, 'packages/cuda-native/native/src/core/driver_functions.h');
const progress = (text: string) => process.stderr.write(`${text}\n`);

async function measureFigures(rounds: number, work: number, seconds: number): Promise<CudaResults['figures']> {
  const ours = join(ROOT, 'bench/dist/cuda/ours.js');
  const programs = {
    peer: new Asked(peer, []),
    ours: new Asked(process.execPath, [ours]),
    oursNoSpin: new Asked(process.execPath, [ours], { ZEROHOP_WAIT_SPIN: '0' }),
  };
  try {
    for (const program of Object.values(programs)) await program.ask(`open ${image}`);
    return await compare(figures(work), programs, rounds, seconds, progress);
  } finally {
    await Promise.all(Object.values(programs).map((program) => program.close()));
  }
}

async function main(): Promise<boolean> {
  const { values: options } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      work: { type: 'string', default: '1' },
      'time-limit': { type: 'string', default: '3600' },
      parts: { type: 'string', default: 'figures,import,loop' },
      out: { type: 'string' },
    },
  });
  const parts = options.parts.split(',');
  const cuda = availability();
  if (!cuda.available) throw new Error(cuda.message);
  const loop = parts.includes('loop') ? await measureLoop([image]) : undefined;
  const results: CudaResults = {
    kind: 'cuda',
    date: new Date().toISOString().slice(0, 10),
    commit: await describeCommit(ROOT),
    machine: await describeMachine(),
    node: process.version,
    driver: { version: cuda.driverVersion, device: cuda.devices[0]?.name ?? '' },
    parameters: { rounds: Number(options.rounds), work: Number(options.work) },
    figures: parts.includes('figures')
      ? await measureFigures(Number(options.rounds), Number(options.work), Number(options['time-limit']))
      : [],
    ...(parts.includes('import') && { import: await measureImport(20) }),
    ...(loop !== undefined && { loop: { ...loop, limitMs: LOOP_LIMIT_MS, met: loop.worstMs < LOOP_LIMIT_MS } }),
    ...(parts.includes('delays') && { delays: await measureDelays(readFileSync(table, 'utf8'), image, progress) }),
  };
  if (options.out !== undefined) writeFileSync(options.out, `${JSON.stringify(results, null, 1)}\n`);
  process.stdout.write(cudaToMarkdown(results));
  return [
    ...results.figures.map(({ met }) => met),
    results.import?.met,
    results.loop?.met,
    ...(results.delays ?? []).map(({ late, met }) => late.length === 0 || met),
  ].every((met) => met !== false);
}

try {
  if (!(await main())) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`cuda: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
