// How long the CPU path keeps the event loop waiting, and how long it takes: node bench/event-loop.mjs (after a build).
import { availableParallelism, cpus, loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { SharedMemory } from '@zerohop/cuda-native';
import { convert } from '../dist/cpu.js';
import { imageToTensor } from '../dist/reference.js';

const ROUNDS = 40;
const WARM = 5;
const [WIDTH, HEIGHT] = [3840, 2160];

/** Noise: no value is special to any step. */
function pixels(memory) {
  const data = new Uint8Array(memory);
  for (let i = 0; i < data.length; i++) data[i] = Math.imul(i, 0x9e3779b1) >>> 24;
  return { data, width: WIDTH, height: HEIGHT, format: 'RGB8', pitch: 3 * WIDTH };
}

const recipe = {
  width: WIDTH,
  height: HEIGHT,
  datatype: 'FP32',
  resize: 'none',
  interpolation: 'linear',
  colorOrder: 'RGB',
  pad: [114, 114, 114],
};
const letterboxed = { ...recipe, width: 640, height: 640, resize: 'letterbox' };

const count = 3 * WIDTH * HEIGHT;
const key = `/zerohop-bench-event-loop-${process.pid}`;
const region = await SharedMemory.create(key, 4 * count);
const slot = {
  elements: new Int32Array(region.buffer),
  shm: { key, byteOffset: 0, byteLength: 4 * count },
};
const plain = { elements: new Int32Array(count) };
const image = pixels(new ArrayBuffer(count));
const sharedImage = pixels(new SharedArrayBuffer(count));

/** The delay is counted from 1 ms ticks: 1 is the least that is shown. */
async function measure(name, work) {
  const times = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let cpu;
  for (let i = 0; i < ROUNDS + WARM; i++) {
    // The first rounds also compile, and start the threads.
    if (i === WARM) {
      delay.enable();
      cpu = process.cpuUsage();
    }
    const start = performance.now();
    await work();
    if (i >= WARM) times.push(performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  delay.disable();
  const { user, system } = process.cpuUsage(cpu);
  const median = times.sort((a, b) => a - b)[ROUNDS >> 1];
  const ms = (ns) => (ns / 1e6).toFixed(1);
  console.log(
    `${name}: median ${median.toFixed(1)}, least ${times[0].toFixed(1)} ms; event-loop delay p50 ${ms(delay.percentile(50))}, p99 ${ms(delay.percentile(99))}, ` +
      `max ${ms(delay.max)} ms; CPU ${((user + system) / 1e3 / ROUNDS).toFixed(1)} ms`,
  );
}

console.log(
  `${cpus()[0].model}, ${availableParallelism()} CPUs, Node ${process.version}; ${ROUNDS} rounds; load before ${loadavg()[0].toFixed(1)}`,
);
const identity = '3840x2160 RGB8 -> [1,3,2160,3840] FP32';
await measure(`${identity}, at once on the JS thread`, async () => imageToTensor(image, recipe, plain.elements));
await measure(`${identity}, plain memory: turns on the JS thread`, () => convert(image, recipe, plain));
await measure(`${identity}, shared memory: threads`, () => convert(image, recipe, slot));
await measure(`${identity}, shared memory, pixels in a SharedArrayBuffer: threads`, () =>
  convert(sharedImage, recipe, slot),
);
await measure('3840x2160 RGB8 -> [1,3,640,640] FP32 letterboxed: at once', () =>
  convert(image, letterboxed, { elements: plain.elements.subarray(0, 3 * 640 * 640) }),
);
region.close();
