// The CPU path beside OpenCV and numpy, in turns: node bench/opencv.mjs (after a build). ZEROHOP_PEERS_PYTHON names a
// Python that has both.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { SharedMemory } from '@zerohop/cuda-native';
import { convert } from '../dist/cpu.js';

const ROUNDS = 25;
const WARM = 5;
const [WIDTH, HEIGHT] = [3840, 2160];

const python = process.env.ZEROHOP_PEERS_PYTHON ?? 'python3';
const peer = spawn(python, [fileURLToPath(new URL('opencv_peer.py', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const lines = createInterface({ input: peer.stdout });
const nextLine = async () => (await once(lines, 'line'))[0];
const versions = await nextLine();

/** Noise: no value is special to any step. */
const data = new Uint8Array(3 * WIDTH * HEIGHT);
for (let i = 0; i < data.length; i++) data[i] = Math.imul(i, 0x9e3779b1) >>> 24;
const image = { data, width: WIDTH, height: HEIGHT, format: 'RGB8', pitch: 3 * WIDTH };
const base = { datatype: 'FP32', interpolation: 'linear', colorOrder: 'RGB', pad: [114, 114, 114] };

const key = `/zerohop-bench-opencv-${process.pid}`;
const region = await SharedMemory.create(key, 12 * WIDTH * HEIGHT);
const slot = {
  elements: new Int32Array(region.buffer),
  shm: { key, byteOffset: 0, byteLength: 12 * WIDTH * HEIGHT },
};
const small = { elements: new Int32Array(3 * 640 * 640) };
const ROWS = {
  identity: [slot, { ...base, width: WIDTH, height: HEIGHT, resize: 'none' }],
  letterbox: [small, { ...base, width: 640, height: 640, resize: 'letterbox' }],
};

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function peerTime(name) {
  const line = nextLine();
  peer.stdin.write(`${name}\n`);
  return Number(await line);
}

const spread = (values, digits) => {
  const sorted = values.toSorted((a, b) => a - b);
  return `${sorted[sorted.length >> 1].toFixed(digits)} (${sorted[0].toFixed(digits)}-${sorted.at(-1).toFixed(digits)})`;
};

console.log(
  `${cpus()[0].model}, ${availableParallelism()} CPUs, load ${loadavg()[0].toFixed(1)} before; Node ${process.version}; ${versions}`,
);
console.log(`median (least-most) of ${ROUNDS} rounds, ours and theirs in turns`);
for (const [name, [out, recipe]] of Object.entries(ROWS)) {
  const [ours, theirs] = [[], []];
  for (let i = 0; i < ROUNDS + WARM; i++) {
    const mine = await timed(() => convert(image, recipe, out));
    const its = await peerTime(name);
    if (i < WARM) continue;
    ours.push(mine);
    theirs.push(its);
  }
  const ratios = ours.map((ms, i) => ms / theirs[i]);
  console.log(
    `3840x2160 RGB8, ${name} to ${recipe.width}x${recipe.height} FP32: ${spread(ours, 1)} ms; theirs ${spread(theirs, 1)} ms; ratio ${spread(ratios, 2)}`,
  );
}
peer.stdin.end();
region.close();
