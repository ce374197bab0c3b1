/**
 * The kernels of @zerohop/gpu-preproc: one launch for each row, by two methods ("node": one captured graph of 100 launches
 * over 100 different images; "event": events round one launch after a write of 512 MB, of one image as for the peers), beside an empty kernel, a copy of
 * as many bytes, and, where the machine's Python has them, torch, torchvision and OpenCV. Then a 4K JPEG to a tensor, beside
 * torchvision's decoding of it alone.
 *
 *     node dist/preproc.js [--rows ID,ID] [--python PROGRAM] [--out FILE]
 *
 * Ends with status 1 when a goal was not met. Needs 10 GB of device memory.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Device } from '@zerohop/cuda-native';
import { ImageKernels } from '@zerohop/gpu-preproc/gpu';
import { runProgram } from './child.js';
import { describeCommit, describeMachine } from './machine.js';
import { measureJpeg, sceneJpeg } from './preproc/jpeg.js';
import { type MeasuredRow, type Methods, measureRow } from './preproc/measure-row.js';
import { ROWS } from './preproc/rows.js';
import { Timer, type Timing } from './preproc/timing.js';
import { ROOT } from './server.js';

const FLUSH_BYTES = 512 * 2 ** 20;
const progress = (text: string) => process.stderr.write(`${text}\n`);
const shown = ({ medianUs, p95Us }: Timing) => `${medianUs.toFixed(2)} (p95 ${p95Us.toFixed(2)})`;

function show({ id, ours, copy, met }: MeasuredRow): string {
  const share = (ours.event.medianUs / copy.event.medianUs).toFixed(3);
  const verdict = met === undefined ? '' : met ? ', met' : ', NOT met';
  return `${id}: node ${shown(ours.node)}; event ${shown(ours.event)}, ${share} of the copy's ${shown(copy.event)}${verdict}`;
}

interface Measured {
  readonly loadedFrom: string;
  readonly empty: Methods;
  readonly rows: readonly MeasuredRow[];
}

async function measure(wanted: readonly string[] | undefined): Promise<Measured> {
  const device = await Device.open(0);
  const kernels = await ImageKernels.open(device);
  const stream = device.createStream();
  const flush = await device.alloc(FLUSH_BYTES);
  try {
    const timer = new Timer(device, stream, flush);
    const enqueueEmpty = await kernels.emptyLaunch(stream);
    const empty = { node: await timer.node(enqueueEmpty), event: await timer.event(enqueueEmpty) };
    progress(
      `kernels from ${kernels.loadedFrom}; empty kernel: node ${shown(empty.node)}; event ${shown(empty.event)}`,
    );
    const rows: MeasuredRow[] = [];
    for (const row of ROWS) {
      if (wanted !== undefined && !wanted.includes(row.id)) continue;
      rows.push(await measureRow(device, stream, kernels, timer, row));
      progress(show(rows.at(-1) as MeasuredRow));
    }
    return { loadedFrom: kernels.loadedFrom, empty, rows };
  } finally {
    await stream.close();
    await flush.close();
    await kernels.close();
  }
}

/** What the libraries of the machine's Python need for the same rows and the same JPEG, or why that was not measured. */
async function measurePeers(python: string, jpeg: string): Promise<unknown> {
  const program = join(ROOT, 'bench/peers/preproc_peers.py');
  try {
    return JSON.parse(await runProgram(python, [program, jpeg], { timeoutMs: 240_000 }));
  } catch (error) {
    return { notMeasured: error instanceof Error ? error.message : String(error) };
  }
}

/** A 4K JPEG by us and, from the same file, by torchvision. */
async function withJpeg<T>(use: (bytes: Uint8Array, file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-preproc-'));
  try {
    const bytes = await sceneJpeg();
    const file = join(folder, '4k.jpg');
    writeFileSync(file, bytes);
    return await use(bytes, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<boolean> {
  const { values: options } = parseArgs({
    options: {
      rows: { type: 'string' },
      python: { type: 'string', default: 'python3' },
      out: { type: 'string' },
    },
  });
  const measured = await measure(options.rows?.split(','));
  const results = {
    kind: 'preproc',
    date: new Date().toISOString().slice(0, 10),
    commit: await describeCommit(ROOT),
    machine: await describeMachine(),
    node: process.version,
    ...measured,
    ...(await withJpeg(async (bytes, file) => {
      const jpeg = await measureJpeg(bytes);
      progress(
        `4K JPEG of ${bytes.byteLength} bytes: decode ${shown(jpeg.decode)}, to 640 ${shown(jpeg.toLetterbox640)}, to 4K ${shown(jpeg.to4k)}`,
      );
      return { jpeg, peers: await measurePeers(options.python, file) };
    })),
  };
  const text = `${JSON.stringify(results, null, 1)}\n`;
  if (options.out === undefined) process.stdout.write(text);
  else writeFileSync(options.out, text);
  return measured.rows.every(({ met }) => met !== false);
}

try {
  if (!(await main())) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`preproc: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
