import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { SharedMemory } from '@zerohop/cuda-native';
import { describe, expect, it, onTestFinished } from 'vitest';
import { missingBands } from '../../src/cpu/bands.js';
import { convert, convertBy, type HostTensor } from '../../src/cpu/convert.js';
import type { Job } from '../../src/cpu/messages.js';
import { Threads } from '../../src/cpu/threads.js';
import { imageFrom } from '../../src/image.js';
import { ELEMENT_BYTES } from '../../src/reference/elements.js';
import type { Pixels } from '../../src/reference/pixels.js';
import { geometriesOf, type TensorRecipe, typedElements } from '../../src/reference/tensor.js';
import { bytesOf, CASES, elementsOf, expected, picture, recipe } from '../cpu-cases.js';

const key = (): string => `/zerohop-test-${process.pid}-${randomUUID()}`;

interface Slot extends HostTensor {
  readonly region: SharedMemory;
}

/** A slot in a region, with other bytes on both sides of it. */
async function slot(of: TensorRecipe, count: number): Promise<Slot> {
  const byteLength = count * ELEMENT_BYTES[of.datatype];
  const byteOffset = 4096 + 256;
  const region = await SharedMemory.create(key(), byteOffset + byteLength + 256);
  onTestFinished(() => region.close());
  new Uint8Array(region.buffer).fill(0xa5);
  const elements = typedElements(of.datatype, region.buffer, byteOffset, count);
  return { region, elements, shm: { key: region.key, byteOffset, byteLength } };
}

/** Nothing round the slot was written. */
function expectUntouched({ region, shm, elements }: Slot): void {
  const bytes = new Uint8Array(region.buffer);
  const before = bytes.subarray(0, shm?.byteOffset);
  const after = bytes.subarray((shm?.byteOffset ?? 0) + elements.byteLength);
  expect(before.every((byte) => byte === 0xa5)).toBe(true);
  expect(after.every((byte) => byte === 0xa5)).toBe(true);
}

function inSharedMemory(image: Pixels): Pixels {
  const data = new Uint8Array(new SharedArrayBuffer(image.data.byteLength));
  data.set(image.data);
  return { ...image, data };
}

const large = picture('RGB8', 900, 700);
const largeCount = elementsOf(large, recipe);

async function expectConverted(pool: Threads, out: HostTensor): Promise<void> {
  out.elements.fill(0);
  await convertBy(pool, large, recipe, out);
  expect(bytesOf(out.elements).equals(bytesOf(expected(large, recipe)))).toBe(true);
}

const run = promisify(execFile);
const HERE = fileURLToPath(new URL('.', import.meta.url));

/** What is built, by which a large picture is converted into shared memory of a process of its own. */
const PROGRAM = `
import { convert } from '../../dist/cpu.js';
import { imageToTensor } from '../../dist/reference.js';
const recipe = ${JSON.stringify(recipe)};
const image = { width: 90, height: 70, format: 'RGB8', pitch: 270, data: new Uint8Array(270 * 70).map((_, i) => i) };
const elements = new Int32Array(new SharedArrayBuffer(4 * ${3 * recipe.width * recipe.height}));
await convert(image, recipe, { elements });
const same = new Int32Array(elements.length);
imageToTensor(image, recipe, same);
console.log(Buffer.compare(Buffer.from(same.buffer), Buffer.from(elements.buffer)) === 0 ? 'same' : 'different');
`;

describe('threads', () => {
  it.each(CASES)('write what the definition does: %s', async (_, image, of) => {
    const out = await slot(of, elementsOf(image, of));
    expect(await convert(image, of, out)).toEqual(geometriesOf(image, of));
    expect(bytesOf(out.elements).equals(bytesOf(expected(image, of)))).toBe(true);
    expectUntouched(out);
  });

  it.each(CASES)('read and write shared memory of the process: %s', async (_, image, of) => {
    const count = elementsOf(image, of);
    const elements = typedElements(of.datatype, new SharedArrayBuffer(64 + 4 * count), 64, count);
    await convert(inSharedMemory(image), of, { elements });
    expect(bytesOf(elements).equals(bytesOf(expected(image, of)))).toBe(true);
  });

  it('write one picture of a batch, and no other', async () => {
    const out = await slot(recipe, 3 * largeCount);
    await convert(large, recipe, out, { first: largeCount, count: largeCount });
    const [before, written, after] = [0, 1, 2].map((i) =>
      bytesOf(out.elements.subarray(i * largeCount, (i + 1) * largeCount)),
    );
    expect(written?.equals(bytesOf(expected(large, recipe)))).toBe(true);
    expect(before?.every((byte) => byte === 0xa5) && after?.every((byte) => byte === 0xa5)).toBe(true);
  });

  it('do the work: the JS thread writes only the first rows', async () => {
    const left: unknown[] = [];
    const pool = new (class extends Threads {
      override async run(job: Job): Promise<string[]> {
        const failures = await super.run(job);
        left.push({ failures, missing: missingBands(job.bands), from: job.bands.from });
        return failures;
      }
    })(2);
    const out = await slot(recipe, largeCount);
    await expectConverted(pool, out);
    expect(left).toEqual([{ failures: [], missing: [], from: 1 }]);
    expect(pool.threads).toHaveLength(2);
    expect(pool.unavailable).toBeUndefined();
  });

  it('are not started for small work', async () => {
    const pool = new Threads(2);
    const small = { ...recipe, width: 64, height: 64 };
    const image = picture('RGB8', 64, 64);
    const out = await slot(small, elementsOf(image, small));
    await convertBy(pool, image, small, out);
    expect(bytesOf(out.elements).equals(bytesOf(expected(image, small)))).toBe(true);
    expect(pool.threads).toEqual([]);
  });

  it('take fifty jobs at once, of two recipes', async () => {
    const other = { ...recipe, datatype: 'UINT8', interpolation: 'nearest', width: 2000 } as const;
    const outs = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const of = i % 2 === 0 ? recipe : other;
        return { of, image: picture('RGB8', 160, 120, i), out: await slot(of, 3 * of.width * of.height) };
      }),
    );
    await Promise.all(outs.map(({ of, image, out }) => convert(image, of, out)));
    for (const { of, image, out } of outs) {
      expect(bytesOf(out.elements).equals(bytesOf(expected(image, of)))).toBe(true);
    }
  });

  it('may be killed in the middle of a job, and are replaced', async () => {
    const pool = new Threads(2);
    const big = { ...recipe, width: 3000, height: 2000 };
    const count = elementsOf(large, big);
    const out = await slot(big, count);
    const other = await slot(recipe, largeCount);
    await expectConverted(pool, other);
    const before = pool.threads;
    out.elements.fill(0);
    const job = convertBy(pool, large, big, out);
    const next = convertBy(pool, large, recipe, other);
    // Some band is there; many are not yet.
    const rows = out.elements.subarray(big.width, 200 * big.width);
    while (!rows.some((bits) => bits !== 0)) await setImmediate();
    await Promise.all(before.map((thread) => thread.terminate()));
    await Promise.all([job, next]);
    expect(bytesOf(out.elements).equals(bytesOf(expected(large, big)))).toBe(true);
    expect(bytesOf(other.elements).equals(bytesOf(expected(large, recipe)))).toBe(true);
    await expectConverted(pool, other);
    expect(pool.threads).toHaveLength(2);
    expect(pool.threads.some((thread) => before.includes(thread))).toBe(false);
    expect(pool.unavailable).toBeUndefined();
  });

  it('leave alone a region that took the name of the one that was meant', async () => {
    const pool = new Threads(2);
    const out = await slot(recipe, largeCount);
    await expectConverted(pool, out);
    out.region.unlink();
    await expectConverted(pool, out);
    const taker = await SharedMemory.create(out.region.key, out.region.byteLength);
    onTestFinished(() => taker.close());
    // With its own mapping of the first region a thread still reaches that one; a new thread finds the second.
    await Promise.all(pool.threads.map((thread) => thread.terminate()));
    await expectConverted(pool, out);
    expect(new Uint8Array(taker.buffer).every((byte) => byte === 0)).toBe(true);
  });

  it('leave what they mapped when the name shows other memory', async () => {
    const pool = new Threads(1);
    const first = await slot(recipe, largeCount);
    await expectConverted(pool, first);
    first.elements.fill(7);
    first.region.unlink();
    const region = await SharedMemory.create(first.region.key, first.region.byteLength);
    onTestFinished(() => region.close());
    const byteOffset = first.shm?.byteOffset ?? 0;
    const second = { ...first, elements: typedElements('FP32', region.buffer, byteOffset, largeCount) };
    await expectConverted(pool, second);
    expect(first.elements.every((bits) => bits === 7)).toBe(true);
  });

  it('are done without where the program is missing', async () => {
    const pool = new Threads(2, new URL('file:///nonexistent/worker.js'));
    const out = await slot(recipe, largeCount);
    await expectConverted(pool, out);
    await expectConverted(pool, out);
    expect(pool.unavailable).toMatch('nonexistent');
    expect(pool.threads).toEqual([]);
  });

  it('are fewer where not all can be started, and do the work', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'zerohop-threads-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const program = pathToFileURL(join(folder, 'worker.mjs'));
    const real = new URL('../../dist/worker.js', import.meta.url).href;
    // Every second thread of this process ends at once.
    await writeFile(
      program,
      `import { threadId } from 'node:worker_threads';
       if (threadId % 2 === 0) process.exit(1);
       await import(${JSON.stringify(real)});`,
    );
    const pool = new Threads(2, program);
    const out = await slot(recipe, largeCount);
    await expectConverted(pool, out);
    while (pool.threads.length > 1) await setImmediate();
    await expectConverted(pool, out);
    expect(pool.threads).toHaveLength(1);
    expect(pool.unavailable).toBeUndefined();
  });

  it('are done without where the picture carries what no message can', async () => {
    const out = await slot(recipe, largeCount);
    const carrying = { ...large, release: () => undefined };
    await convert(carrying, recipe, out);
    expect(bytesOf(out.elements).equals(bytesOf(expected(large, recipe)))).toBe(true);
  });

  it('go on with a picture that is closed meanwhile, and refuse a closed one', async () => {
    const { data, ...options } = large;
    const image = imageFrom(data, options);
    const out = await slot(recipe, largeCount);
    const work = convert(image, recipe, out);
    await image.close();
    await work;
    expect(bytesOf(out.elements).equals(bytesOf(expected(large, recipe)))).toBe(true);
    await expect(convert(image, recipe, out)).rejects.toMatchObject({ code: 'ERR_DISPOSED' });
  });

  it('let a process end by itself, and are done without where it may start none', async () => {
    const ask = (...flags: string[]) =>
      run(process.execPath, [...flags, '--input-type=module', '-e', PROGRAM], { cwd: HERE });
    const free = await ask();
    expect(free).toEqual({ stdout: 'same\n', stderr: '' });
    const bound = await ask(
      '--experimental-permission',
      '--allow-fs-read=*',
      '--allow-addons',
      '--disable-warning=ExperimentalWarning',
    );
    expect(bound.stdout).toBe('same\n');
    expect(bound.stderr).toMatch('[ZEROHOP_CPU_THREADS]');
  });
});
