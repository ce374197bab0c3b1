// How long the CPU path takes on this machine, one thread: node bench/reference.mjs (after a build).
import { availableParallelism, cpus } from 'node:os';
import sharp from 'sharp';
import { decodeImage, imageFrom } from '../dist/index.js';
import { imageToTensor } from '../dist/reference.js';

const ROUNDS = 15;

async function median(work) {
  const times = [];
  for (let i = 0; i < ROUNDS + 3; i++) {
    const start = performance.now();
    await work();
    // The first rounds also compile.
    if (i >= 3) times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1].toFixed(1);
}

/** Noise: no value is special to any step. */
function picture(width, height) {
  const data = new Uint8Array(3 * width * height);
  for (let i = 0; i < data.length; i++) data[i] = Math.imul(i, 0x9e3779b1) >>> 24;
  return imageFrom(data, { width, height, format: 'RGB8' });
}

const recipe = {
  resize: 'letterbox',
  interpolation: 'linear',
  colorOrder: 'RGB',
  pad: [114, 114, 114],
  datatype: 'FP32',
};

console.log(`${cpus()[0].model}, ${availableParallelism()} CPUs, Node ${process.version}; median of ${ROUNDS}, ms`);
for (const [from, to] of [
  [
    [3840, 2160],
    [3840, 2160],
  ],
  [
    [6000, 4000],
    [3840, 2160],
  ],
  [
    [1920, 1080],
    [3840, 2160],
  ],
  [
    [3840, 2160],
    [640, 640],
  ],
]) {
  const image = picture(...from);
  const [width, height] = to;
  const out = new Int32Array(3 * width * height);
  const time = await median(() => imageToTensor(image, { ...recipe, width, height }, out));
  console.log(`${from.join('x')} RGB8 -> [1,3,${height},${width}] FP32: ${time}`);
}
const jpeg = await sharp(picture(3840, 2160).data, { raw: { width: 3840, height: 2160, channels: 3 } })
  .blur(3)
  .jpeg({ quality: 90 })
  .toBuffer();
console.log(`3840x2160 JPEG (${jpeg.length} bytes) -> RGB8 by sharp: ${await median(() => decodeImage(jpeg))}`);
