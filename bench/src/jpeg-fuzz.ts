/**
 * Damaged JPEGs through nvJPEG to device memory. After each, a good picture has to decode to the same bytes as before, and
 * what lies behind the room that was given must be untouched. nvJPEG's own encoder makes the good ones.
 *
 *     node dist/jpeg-fuzz.js [--count N] [--seed N] [--out FILE]
 *
 * Ends with status 1 when one gave another error than a JpegError or too little room (RangeError), changed a good picture,
 * wrote where it must not, or when the process that decodes ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CudaError, Device, type DeviceMemory, type Stream } from '@zerohop/cuda-native';
import {
  JpegDecoder,
  JpegEncoder,
  JpegError,
  type JpegSubsampling,
  nvjpegAvailability,
} from '@zerohop/cuda-native/nvjpeg';
import { type Random, seeded } from '@zerohop/test-support/seeded';
import { DAMAGES } from './jpeg-fuzz/damage.js';
import { describeCommit, describeMachine } from './machine.js';
import { ROOT } from './server.js';

/** For pictures: enough for the good ones, too little for those that say they are huge. */
const ROOM = 1 << 20;
/** Behind the room; nobody may write there. */
const GUARD = 64 << 10;
const GUARD_BYTE = 0xa5;
const KINDS: readonly [width: number, height: number, subsampling: JpegSubsampling][] = [
  [320, 240, '4:2:0'],
  [123, 77, '4:4:4'],
  [200, 31, '4:2:2'],
  [64, 64, 'gray'],
];

interface Outcome {
  readonly index: number;
  readonly damage: string;
  readonly outcome: string;
  readonly problem?: string;
}

/** The device and what is used over and over. */
class Bed {
  readonly #stream: Stream;
  readonly #memory: DeviceMemory;
  readonly #decoder: JpegDecoder;

  private constructor(stream: Stream, memory: DeviceMemory, decoder: JpegDecoder) {
    this.#stream = stream;
    this.#memory = memory;
    this.#decoder = decoder;
  }

  static async open(device: Device): Promise<Bed> {
    const bed = new Bed(device.createStream(), await device.alloc(ROOM + GUARD), await JpegDecoder.create(device));
    bed.#stream.fill(bed.#memory, GUARD_BYTE);
    await bed.#stream.done();
    return bed;
  }

  /** Good pictures, from noise that a seed makes. */
  async encode(device: Device, random: Random): Promise<Buffer[]> {
    const encoder = await JpegEncoder.create(device);
    const jpegs: Buffer[] = [];
    for (const [width, height, subsampling] of KINDS) {
      const pixels = Uint8Array.from(
        { length: 3 * width * height },
        (_, i) => ((i / 3 / width) & 127) + random.integer(0, 60),
      );
      await this.#stream.copyToDevice(this.#memory.slice(0, pixels.length), pixels);
      jpegs.push(
        Buffer.from(await encoder.encode(this.#memory.slice(0, pixels.length), { width, height, subsampling })),
      );
    }
    await encoder.close();
    return jpegs;
  }

  /** The pixels of a picture. */
  async pixels(jpeg: Uint8Array): Promise<Buffer> {
    const { width, height } = await this.#decoder.decode(jpeg, this.#memory.slice(0, ROOM));
    const bytes = Buffer.alloc(3 * width * height);
    await this.#stream.copyToHost(bytes, this.#memory.slice(0, bytes.length));
    return bytes;
  }

  async guardIsWhole(): Promise<boolean> {
    const bytes = Buffer.alloc(GUARD);
    await this.#stream.copyToHost(bytes, this.#memory.slice(ROOM, GUARD));
    return bytes.every((byte) => byte === GUARD_BYTE);
  }

  async close(): Promise<void> {
    await Promise.all([this.#decoder.close(), this.#stream.close(), this.#memory.close()]);
  }
}

async function outcomeOf(bed: Bed, jpeg: Uint8Array): Promise<Pick<Outcome, 'outcome' | 'problem'>> {
  try {
    await bed.pixels(jpeg);
    return { outcome: 'decoded' };
  } catch (error) {
    if (error instanceof JpegError) return { outcome: error.code };
    if (error instanceof RangeError) return { outcome: 'too little room' };
    const sticky = error instanceof CudaError && error.sticky ? 'sticky: ' : '';
    return { outcome: 'another error', problem: `${sticky}${String(error)}` };
  }
}

/**
 * Decodes from picture `from` on. Writes a line `# VERSION` of nvJPEG, then before each picture a line `> INDEX` and after
 * it what became of it.
 */
async function decodeAll(seed: number, from: number, count: number): Promise<void> {
  const device = await Device.open(0);
  const bed = await Bed.open(device);
  const good = await bed.encode(device, seeded(seed));
  const expected: Buffer[] = [];
  for (const jpeg of good) expected.push(await bed.pixels(jpeg));
  const nvjpeg = nvjpegAvailability();
  writeSync(1, `# ${nvjpeg.available ? nvjpeg.version : nvjpeg.message}\n`);
  const damages = Object.entries(DAMAGES);
  for (let index = from; index < count; index += 1) {
    const random = seeded(seed * 1_000_003 + index);
    const [damage, make] = random.pick(damages);
    const jpeg = make(Buffer.from(random.pick(good)), random);
    writeSync(1, `> ${index}\n`);
    const outcome = await outcomeOf(bed, jpeg);
    const check = index % good.length;
    const again = await bed.pixels(good[check] as Buffer).catch((error: unknown) => error);
    const same = Buffer.isBuffer(again) && again.equals(expected[check] as Buffer);
    const problem =
      outcome.problem ??
      (same ? undefined : `then a good picture gave ${Buffer.isBuffer(again) ? 'other pixels' : String(again)}`) ??
      ((await bed.guardIsWhole()) ? undefined : 'wrote behind the room it was given');
    writeSync(
      1,
      `${JSON.stringify({ index, damage, ...outcome, problem } satisfies Record<keyof Outcome, unknown>)}\n`,
    );
  }
  await bed.close();
}

function start(seed: number, from: number, count: number): ChildProcess {
  const args = [fileURLToPath(import.meta.url), '--from', from, '--seed', seed, '--count', count].map(String);
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function supervise(seed: number, count: number) {
  const outcomes: Record<string, number> = {};
  const byDamage: Record<string, Record<string, number>> = {};
  const problems: string[] = [];
  let nvjpeg: string | undefined;
  for (let next = 0; next < count; ) {
    const child = start(seed, next, count);
    const ended = new Promise<string>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => resolve(String(signal ?? code)));
    });
    let running = -1;
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      if (line.startsWith('# ')) {
        nvjpeg = line.slice(2);
        continue;
      }
      if (line.startsWith('> ')) {
        running = Number(line.slice(2));
        continue;
      }
      const { index, damage, outcome, problem } = JSON.parse(line) as Outcome;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      byDamage[damage] ??= {};
      const mine = byDamage[damage];
      mine[outcome] = (mine[outcome] ?? 0) + 1;
      if (problem !== undefined) problems.push(`picture ${index} of seed ${seed} (${damage}): ${problem}`);
      next = index + 1;
    }
    const status = await ended;
    if (status === '0') break;
    problems.push(`picture ${running} of seed ${seed}: the process ended with ${status}`);
    // It did not even start, or the device may be lost to it: a new process begins after that picture.
    if (running < next) break;
    next = running + 1;
  }
  return { nvjpeg, outcomes, byDamage, problems };
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      count: { type: 'string', default: '2000' },
      seed: { type: 'string', default: '1' },
      out: { type: 'string' },
      /** In this process, from this picture on. */
      from: { type: 'string' },
    },
  });
  const [seed, count] = [Number(options.seed), Number(options.count)];
  if (options.from !== undefined) {
    await decodeAll(seed, Number(options.from), count);
    return;
  }
  const began = performance.now();
  const { nvjpeg, ...report } = await supervise(seed, count);
  const results = {
    kind: 'jpeg-fuzz',
    date: new Date().toISOString().slice(0, 10),
    commit: await describeCommit(ROOT),
    machine: await describeMachine(),
    versions: { node: process.version, nvjpeg },
    seed,
    count,
    seconds: Math.round((performance.now() - began) / 1000),
    ...report,
  };
  const text = `${JSON.stringify(results, null, 1)}\n`;
  process.stdout.write(options.out === undefined ? text : `${JSON.stringify(report.outcomes)}\n`);
  if (options.out !== undefined) writeFileSync(options.out, text);
  for (const problem of report.problems) process.stderr.write(`jpeg-fuzz: ${problem}\n`);
  if (report.problems.length > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`jpeg-fuzz: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
