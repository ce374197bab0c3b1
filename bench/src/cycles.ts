/**
 * Makes and closes one object of @zerohop/cuda-native after the other, kind by kind, each in a process of its own, and
 * ends with status 1 when memory, handles, mappings, threads or device memory grew:
 *
 *     node dist/cycles.js [--count N] [--warm-up N] [--together N] [--kinds memory,stream,…] [--out FILE]
 *
 * Without --count each kind has 100,000 cycles on the fake driver (ZEROHOP_LIBCUDA) and fewer on a GPU. With --together so
 * many cycles run side by side, where one takes long; not for `registered`, whose cycles share one mapping.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { availability, Device } from '@zerohop/cuda-native';
import { exitOnSignals, runProgram } from './child.js';
import { growth, type Holdings, holdings, slope } from './cycles/holdings.js';
import { type Cycle, exportUntilDisconnected, KINDS } from './cycles/kinds.js';
import { describeCommit, describeMachine } from './machine.js';
import { ROOT } from './server.js';

const FAKE_COUNT = 100_000;
const PARTS = 10;
/** Cycles of one round of it, at least, and of all. */
const WARM_UP = 2000;
const WARM_UP_SHARE = 0.1;
const WARM_UP_ROUNDS = 6;
const STEADY = 0.005;
/** Where a cycle may take milliseconds. */
const FEW = 1000;
/** Filling so much takes milliseconds. */
const BUSY_BYTES = 64 << 20;
const TIMEOUT_MS = 3_600_000;

interface KindRun {
  readonly kind: string;
  readonly says: string;
  readonly cycles: number;
  readonly warmUp: number;
  /** Cycles side by side. */
  readonly together: number;
  readonly seconds: number;
  readonly bytesPerCycle: number;
  /** After the warm-up, and at the ends of equal parts. */
  readonly readings: readonly Holdings[];
  readonly problems: readonly string[];
}

/**
 * Cycles until resident memory stays: code gets compiled, heaps take their size in steps of some MiB. What still grows
 * after so many rounds counts. Gives how many cycles there were.
 */
async function warmUp(device: Device, cycle: Cycle, cycles: number, together: number): Promise<number> {
  await startThreads(device, together);
  let before = 0;
  for (let round = 1; ; round += 1) {
    await runCycles(cycle, cycles, together);
    const { residentBytes } = await holdings(device, 0);
    if (Math.abs(residentBytes - before) < STEADY * before || round === WARM_UP_ROUNDS) return round * cycles;
    before = residentBytes;
  }
}

async function runCycles(cycle: Cycle, count: number, together: number): Promise<void> {
  for (let left = count; left > 0; left -= together) {
    await Promise.all(Array.from({ length: Math.min(together, left) }, async () => cycle.run()));
  }
}

/**
 * The addon starts its threads as work comes in, at most 8 and one that waits; the fake driver one for each stream that is
 * busy while the others are.
 */
async function startThreads(device: Device, together: number): Promise<void> {
  for (let i = 0; i < 4; i += 1) {
    const memories = await Promise.all(Array.from({ length: 64 }, () => device.alloc(4096)));
    await Promise.all(memories.map((memory) => memory.close()));
  }
  const memory = await device.alloc(BUSY_BYTES);
  const streams = Array.from({ length: together }, () => device.createStream());
  for (const stream of streams) stream.fill(memory, 0);
  await Promise.all(streams.map((stream) => stream.close()));
  await memory.close();
}

async function runKind(name: string, count: number, warmUpCycles: number, together: number): Promise<KindRun> {
  const kind = KINDS[name];
  if (kind === undefined)
    throw new RangeError(`Expected one of ${Object.keys(KINDS).join(', ')} but received '${name}'`);
  const device = await Device.open(0);
  const image = join(ROOT, 'packages/cuda-native/test/fixtures/kernels.fatbin');
  const cycle = await kind.prepare(device, image);
  const warmed = await warmUp(device, cycle, warmUpCycles, together);
  const readings = [await holdings(device, 0)];
  const began = performance.now();
  for (let part = 1, done = 0; part <= PARTS; part += 1) {
    const end = Math.round((count * part) / PARTS);
    await runCycles(cycle, end - done, together);
    done = end;
    readings.push(await holdings(device, done));
  }
  const seconds = (performance.now() - began) / 1000;
  await cycle.finish?.();
  return {
    kind: name,
    says: kind.says,
    cycles: count,
    warmUp: warmed,
    together,
    seconds,
    bytesPerCycle: slope(readings),
    readings,
    problems: growth(readings),
  };
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      count: { type: 'string' },
      'warm-up': { type: 'string' },
      together: { type: 'string', default: '1' },
      kinds: { type: 'string', default: Object.keys(KINDS).join(',') },
      out: { type: 'string' },
      /** One kind, in this process. */
      only: { type: 'string' },
      /** The other process of the kind `ipc`. */
      export: { type: 'boolean', default: false },
    },
  });
  if (options.export) {
    await exportUntilDisconnected(await Device.open(0));
    return;
  }
  const together = Number(options.together);
  if (!Number.isInteger(together) || together < 1) {
    throw new RangeError(`Expected a whole number from 1 on for --together but received '${options.together}'`);
  }
  if (options.only !== undefined) {
    process.stdout.write(
      JSON.stringify(await runKind(options.only, Number(options.count), Number(options['warm-up']), together)),
    );
    return;
  }
  exitOnSignals();
  const cuda = availability();
  if (!cuda.available) throw new Error(cuda.message);
  const fake = cuda.devices[0]?.name.startsWith('Fake') === true;
  const about = {
    kind: 'cycles',
    date: new Date().toISOString().slice(0, 10),
    commit: await describeCommit(ROOT),
    machine: await describeMachine(),
    node: process.version,
    driver: { version: cuda.driverVersion, device: cuda.devices[0]?.name ?? '' },
  };
  const runs: KindRun[] = [];
  const skipped: { kind: string; reason: string }[] = [];
  for (const kind of options.kinds.split(',')) {
    const reason = KINDS[kind]?.missing?.();
    if (reason !== undefined) {
      skipped.push({ kind, reason });
      process.stdout.write(`${kind}: not run: ${reason}\n`);
      continue;
    }
    const count = Number(options.count ?? (fake ? FAKE_COUNT : KINDS[kind]?.gpuCount));
    const warmUp = Number(options['warm-up'] ?? (count <= FEW ? count : Math.max(WARM_UP, count * WARM_UP_SHARE)));
    const counts = ['--count', String(count), '--warm-up', String(warmUp), '--together', String(together)];
    // What V8 takes in steps of some MiB, at moments of its own, is not what is asked: its young generation is kept
    // small, and its optimising compiler off.
    const flags = ['--expose-gc', '--max-semi-space-size=1', '--no-opt'];
    const args = [...flags, process.argv[1] as string, '--only', kind, ...counts];
    const run = JSON.parse(await runProgram(process.execPath, args, { timeoutMs: TIMEOUT_MS })) as KindRun;
    runs.push(run);
    const first = run.readings[0] as Holdings;
    const last = run.readings.at(-1) as Holdings;
    const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
    process.stdout.write(
      `${run.says}: ${run.cycles} cycles in ${run.seconds.toFixed(1)} s, resident ${mebibytes(first.residentBytes)} -> ` +
        `${mebibytes(last.residentBytes)} MiB (${run.bytesPerCycle.toFixed(2)} bytes a cycle), files ${last.files}, ` +
        `mappings ${first.maps} -> ${last.maps}, threads ${last.threads}: ${run.problems.length === 0 ? 'nothing grew' : run.problems.join('; ')}\n`,
    );
    // After each kind, so that a run that is cut short leaves what it has.
    if (options.out !== undefined) {
      writeFileSync(options.out, `${JSON.stringify({ ...about, runs, skipped }, null, 1)}\n`);
    }
  }
  if (runs.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`cycles: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
