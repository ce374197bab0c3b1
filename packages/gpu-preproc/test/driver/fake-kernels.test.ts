import { readFileSync } from 'node:fs';
import { Device, type DeviceMemory, type ParameterType } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { checkImage, type DeviceImage } from '../../src/gpu/device-image.js';
import { BATCH, SINGLE } from '../../src/gpu/image-plan.js';
import { JOB_BYTES, writeJob } from '../../src/gpu/job.js';
import { layOut } from '../../src/gpu/layout.js';
import { checkRecipe } from '../../src/gpu/recipe.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();
// An error of a launch stays with its device.
process.env.ZEROHOP_FAKE_DEVICES = '8';

const ptx = readFileSync(new URL('../../kernels/preproc.ptx', import.meta.url), 'utf8');

/** The entry points of the PTX with the kinds of their parameters. */
function entryPoints(): [name: string, parameters: ParameterType[]][] {
  return [...ptx.matchAll(/\.visible \.entry (\w+)\(([^)]*)\)/g)].map(([, name = '', list = '']) => {
    const parameters = list.split(',').filter((line) => line.trim() !== '');
    return [name, parameters.map(parameterOf)];
  });
}

function parameterOf(line: string): ParameterType {
  const struct = /\.param \.align 8 \.b8 \w+\[(\d+)\]/.exec(line);
  if (struct !== null) return { bytes: Number(struct[1]) };
  const kind = /\.param \.(u64|u32) /.exec(line)?.[1];
  if (kind === undefined) throw new Error(`a parameter of a kind that the test does not know: ${line}`);
  return kind === 'u64' ? 'pointer' : 'u32';
}

const RECIPE = checkRecipe({ width: 12, height: 5, resize: 'none', mean: [0.5, 0.5, 0.5] });
const SHAPE = { width: 12, height: 5, format: 'BGR8' } as const;
const SOURCE = 3 * 12 * 5;
const OUTPUT = 4 * 3 * 12 * 5;
const TABLE = 4 * 768;
const GRID = { grid: [1, 5, 1], block: 32 } as const;

let ordinal = 0;

/** The kernels on a device of its own: its context may get lost. */
async function open() {
  const device = await Device.open(ordinal++);
  const module = await device.loadModule(Buffer.from(ptx));
  const stream = device.createStream();
  const opened: { close(): Promise<void> }[] = [module, stream];
  // Where the context was lost they say so.
  onTestFinished(async () => void (await Promise.allSettled(opened.map((one) => one.close()))));
  const alloc = async (bytes: number): Promise<DeviceMemory> => {
    const memory = await device.alloc(bytes);
    opened.push(memory);
    return memory;
  };
  return { module, stream, alloc };
}

/** A job as the plans write them, for a source at an address, or behind the kernel's pointer. */
function jobOf(image: Omit<DeviceImage, 'memory'>, source = 0n, elements = 0) {
  const memory = { byteLength: 1e9, address: 0n } as DeviceMemory;
  const checked = checkImage({ ...image, memory });
  return writeJob(RECIPE, checked, layOut(RECIPE, checked.crop), { source, outputElements: elements });
}

const lost = { code: 'CUDA_ERROR_ILLEGAL_ADDRESS', sticky: true };

describeTier('driver', 'the kernels as the fake driver runs them', () => {
  test('have the entry points and parameters of the PTX', async () => {
    const { module } = await open();
    const entries = entryPoints();
    expect(entries.length).toBeGreaterThan(60);
    for (const [name, parameters] of entries) {
      await module.kernel(name, parameters);
      await expect(module.kernel(name, [...parameters, 'pointer']), name).rejects.toThrow(RangeError);
    }
  });

  test('may use each byte that is theirs', async () => {
    const { module, stream, alloc } = await open();
    const [source, output, table] = [await alloc(SOURCE), await alloc(OUTPUT), await alloc(TABLE)];
    stream.launch(await module.kernel('direct_rgb8_f32', SINGLE), GRID, jobOf(SHAPE), source, output, table);
    stream.launch(await module.kernel('empty', []), { grid: 1, block: 32 });
    await stream.done();
  });

  test.each([
    ['the source', { source: SOURCE - 1, output: OUTPUT, table: TABLE }],
    ['the tensor', { source: SOURCE, output: OUTPUT - 1, table: TABLE }],
    ['the table', { source: SOURCE, output: OUTPUT, table: TABLE - 1 }],
  ])('are caught one byte beyond %s', async (_, bytes) => {
    const { module, stream, alloc } = await open();
    const [source, output, table] = [await alloc(bytes.source), await alloc(bytes.output), await alloc(bytes.table)];
    stream.launch(await module.kernel('direct_rgb8_f32', SINGLE), GRID, jobOf(SHAPE), source, output, table);
    await expect(stream.done()).rejects.toMatchObject(lost);
  });

  test('are caught in the memory of an image that a batch does not hold', async () => {
    const { module, stream, alloc } = await open();
    const [first, second, output] = [await alloc(SOURCE), await alloc(SOURCE), await alloc(2 * OUTPUT)];
    const jobs = new Uint8Array(8 * JOB_BYTES);
    for (const [i, { address }] of [first, second].entries()) {
      jobs.set(new Uint8Array(jobOf(SHAPE, address, (i * OUTPUT) / 4).buffer), i * JOB_BYTES);
    }
    const grid = { grid: [1, 5, 2], block: 32 } as const;
    const kernel = await module.kernel('batch_rgb8_f32', BATCH);
    const launch = () =>
      stream.launch(kernel, grid, jobs, output, null, first, null, null, null, null, null, null, null);
    launch();
    await stream.done();
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '20000';
    onTestFinished(() => {
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    });
    launch();
    await expect(second.close()).rejects.toMatchObject(lost);
  });
});
