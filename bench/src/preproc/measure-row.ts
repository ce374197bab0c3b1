/** Our figures for one row, and those of a copy within the device that moves as many bytes. */
import { randomFillSync } from 'node:crypto';
import type { Device, DeviceMemory, Stream } from '@zerohop/cuda-native';
import { checkPixelLayout, extent, type ImageKernels } from '@zerohop/gpu-preproc/gpu';
import type { Row } from './rows.js';
import { NODES, type Timer, type Timing } from './timing.js';

export interface Methods {
  readonly node: Timing;
  readonly event: Timing;
}

export interface MeasuredRow {
  readonly id: string;
  readonly says: string;
  readonly bytes: number;
  readonly ours: Methods;
  readonly copy: Methods;
  readonly goal?: Row['goal'];
  readonly met?: boolean;
}

const OUTPUTS = 4;

/** All images hold the same noise: a table is then read everywhere, and no two images share memory. */
async function fillWithNoise(stream: Stream, images: DeviceMemory, bytes: number): Promise<void> {
  await stream.copyToDevice(images.slice(0, bytes), randomFillSync(new Uint8Array(bytes)));
  for (let i = 1; i < NODES; i++) stream.copy(images.slice(i * bytes, bytes), images.slice(0, bytes));
  await stream.done();
}

export async function measureRow(
  device: Device,
  stream: Stream,
  kernels: ImageKernels,
  timer: Timer,
  row: Row,
): Promise<MeasuredRow> {
  const bytes = extent(checkPixelLayout({ width: row.width, height: row.height, format: row.format }));
  const plan = await kernels.plan(row.recipe, [row.format]);
  // A hundred different images; of outputs so many that the next write finds none of them in the L2.
  const images = await device.alloc(NODES * bytes);
  const output = await device.alloc(OUTPUTS * row.writtenBytes);
  const moved = row.readBytes + row.writtenBytes;
  const half = Math.floor(moved / 2 / 256) * 256;
  try {
    await fillWithNoise(stream, images, bytes);
    const outputs = Array.from({ length: OUTPUTS }, (_, i) => output.slice(i * row.writtenBytes, row.writtenBytes));
    const { width, height, format } = row;
    const sources = Array.from({ length: NODES }, (_, i) => ({
      memory: images.slice(i * bytes, bytes),
      width,
      height,
      format,
    }));
    const ours = (i: number) => void plan.enqueue(stream, at(sources, i % NODES), at(outputs, i % OUTPUTS));
    // From the images to the outputs, a copy of half the bytes reads and writes as many as the row does.
    const places = Math.floor((NODES * bytes - half) / bytes);
    const to = output.slice(0, half);
    const copy = (i: number) => stream.copy(to, images.slice((i % places) * bytes, half));
    const measured = {
      ours: { node: await timer.node(ours), event: await timer.event(() => ours(0)) },
      copy: { node: await timer.node(copy), event: await timer.event(() => copy(0)) },
    };
    return { id: row.id, says: row.says, bytes: moved, ...measured, ...verdict(row, measured) };
  } finally {
    await stream.done();
    await Promise.all([plan.close(), images.close(), output.close()]);
  }
}

function at<T>(values: readonly T[], index: number): T {
  return values[index] as T;
}

function verdict({ goal }: Row, { ours, copy }: Pick<MeasuredRow, 'ours' | 'copy'>): Pick<MeasuredRow, 'goal' | 'met'> {
  if (goal === undefined) return {};
  const { nodeUs, eventUs, eventOfCopy } = goal;
  const met =
    (nodeUs === undefined || ours.node.medianUs <= nodeUs) &&
    (eventUs === undefined || ours.event.medianUs <= eventUs) &&
    (eventOfCopy === undefined || ours.event.medianUs <= eventOfCopy * copy.event.medianUs);
  return { goal, met };
}
