/**
 * Answers the requests of the C++ program (bench/cuda/peer/main.cc says what they are) through @zerohop/cuda-native:
 * one line on stdin, one line with an array of samples in nanoseconds on stdout. `launch … done` awaits `stream.done()`.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import {
  Device,
  type DeviceMemory,
  type Event,
  type Kernel,
  type PinnedMemory,
  type Stream,
} from '@zerohop/cuda-native';

const SMALL = 4096;
const MIXED = ['u8', 'u16', 'u32', 'u64', 'f32', 'f64', 'pointer'] as const;
const FILL = ['pointer', 'u32', 'u32'] as const;

interface Opened {
  readonly device: Device;
  readonly stream: Stream;
  readonly event: Event;
  readonly fill: Kernel<typeof FILL>;
  readonly mixed: Kernel<typeof MIXED>;
  readonly small: DeviceMemory;
  readonly pinned: PinnedMemory;
}

async function open(image: string): Promise<Opened> {
  const device = await Device.open(0);
  const module = await device.loadModule(readFileSync(image));
  return {
    device,
    stream: device.createStream(),
    event: device.createEvent(),
    fill: await module.kernel('fill_u32', FILL),
    mixed: await module.kernel('mixed', MIXED),
    small: await device.alloc(SMALL),
    pinned: await device.allocPinned(SMALL),
  };
}

const nanoseconds = (since: number) => Math.round((performance.now() - since) * 1e6);

async function allocExport({ device }: Opened, bytes: number, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const began = performance.now();
    const memory = await device.alloc(bytes, { exportable: true });
    memory.exportIpc();
    samples.push(nanoseconds(began));
    await memory.close();
  }
  return samples;
}

async function upload({ device, stream }: Opened, bytes: number, count: number, batch: number): Promise<number[]> {
  const to = await device.alloc(bytes);
  const from = await device.allocPinned(bytes);
  new Uint8Array(from.buffer).fill(1);
  const samples: number[] = [];
  // The first touches the memory for the device.
  for (let i = -1; i < count; i += 1) {
    const began = performance.now();
    // From pinned memory the copy is only enqueued; the promise is for other memory.
    for (let j = 0; j < batch; j += 1) void stream.copyToDevice(to, from);
    await stream.done();
    if (i >= 0) samples.push(Math.round(nanoseconds(began) / batch));
  }
  await from.close();
  await to.close();
  return samples;
}

async function launch({ stream, fill, small }: Opened, count: number, pauseUs: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    if (pauseUs > 0) await pause(pauseUs / 1000);
    const began = performance.now();
    stream.launch(fill, { grid: 1, block: 32 }, small, 7, 32);
    await stream.done();
    samples.push(nanoseconds(began));
  }
  return samples;
}

function enqueuer({ stream, event, mixed, small, pinned }: Opened, kind: string): () => void {
  switch (kind) {
    case 'copy':
      return () => void stream.copyToDevice(small, pinned);
    case 'fill':
      return () => stream.fill(small, 1);
    case 'launch':
      return () => stream.launch(mixed, { grid: 1, block: 32 }, 1, 2, 3, 4, 5, 6, small);
    case 'record':
      return () => stream.record(event);
    case 'wait':
      return () => stream.wait(event);
    default:
      throw new RangeError(`no such enqueue: ${kind}`);
  }
}

async function enqueue(opened: Opened, kind: string, batches: number, count: number): Promise<number[]> {
  const call = enqueuer(opened, kind);
  const samples: number[] = [];
  for (let i = 0; i < batches; i += 1) {
    const began = performance.now();
    for (let j = 0; j < count; j += 1) call();
    samples.push(Math.round(nanoseconds(began) / count));
    await opened.stream.done();
  }
  return samples;
}

async function call({ device, stream }: Opened, kind: string, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const began = performance.now();
    if (kind === 'memory-info') {
      device.memoryInfo();
      samples.push(nanoseconds(began));
    } else if (kind === 'stream') {
      const made = device.createStream();
      samples.push(nanoseconds(began));
      await made.close();
    } else if (kind === 'event') {
      const made = device.createEvent();
      samples.push(nanoseconds(began));
      await made.close();
    } else if (kind === 'capture') {
      const graph = await stream.capture(() => {});
      samples.push(nanoseconds(began));
      await graph.close();
    } else {
      throw new RangeError(`no such call: ${kind}`);
    }
  }
  return samples;
}

let opened: Opened | undefined;

async function answer(line: string): Promise<number[]> {
  const [what = '', ...words] = line.split(' ');
  if (what === 'open') {
    opened = await open(words[0] ?? '');
    return [];
  }
  if (opened === undefined) throw new Error('the first request must be open');
  const [a, b, c] = words.map(Number);
  switch (what) {
    case 'alloc-export':
      return allocExport(opened, a ?? 0, b ?? 0);
    case 'upload':
      return upload(opened, a ?? 0, b ?? 0, c ?? 1);
    case 'launch':
      return launch(opened, a ?? 0, b ?? 0);
    case 'enqueue':
      return enqueue(opened, words[0] ?? '', b ?? 0, c ?? 0);
    case 'call':
      return call(opened, words[0] ?? '', b ?? 0);
    default:
      throw new RangeError(`no such request: ${what}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
