// Runs damaged pictures through decodeImage and the preprocessor and says of each what became of it:
//   node child.mjs SEED FROM TO
// Writes before each picture a line "> INDEX", so that whoever started it knows which one it died of.
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { decodeImage, PreprocError, Preprocessor } from '@zerohop/gpu-preproc';
import { seeded } from '@zerohop/test-support/seeded';
import { makeBases } from './bases.mjs';
import { DAMAGES } from './damage.mjs';

const [seed, from, to] = process.argv.slice(2).map(Number);
const LIMIT = 2048 * 2048;
const SIDE = 256;
const target = { name: 'images', datatype: 'FP32', shape: [1, 3, SIDE, SIDE], kind: 'host' };
const memory = new Uint8Array(4 * 3 * SIDE * SIDE);
const block = { ...target, byteLength: memory.byteLength, memory, hold: () => undefined };
const pre = await Preprocessor.create({ target });
const bases = await makeBases();
const kinds = Object.keys(DAMAGES);

async function outcomeOf(bytes) {
  memory.fill(0xff);
  try {
    const image = await decodeImage(bytes, { limitInputPixels: LIMIT });
    if (image.width * image.height > LIMIT) return { problem: `${image.width}x${image.height} is over the limit` };
    await pre.run(image, block);
    image.close();
    const values = new Float32Array(memory.buffer);
    if (!values.every((value) => value >= 0 && value <= 1)) return { problem: 'a tensor with values outside [0, 1]' };
    return { outcome: 'tensor', hash: createHash('sha256').update(memory).digest('hex').slice(0, 16) };
  } catch (error) {
    if (!(error instanceof PreprocError)) return { problem: `threw ${error?.stack ?? error}` };
    const one = error.message.includes('\n') ? { problem: `several lines: ${error.message}` } : {};
    return { outcome: error.code, ...one };
  }
}

for (let index = from; index < to; index += 1) {
  const random = seeded(seed * 1_000_003 + index);
  const base = random.pick(bases);
  const damage = random.pick(kinds);
  const { make, outcome: expected } = DAMAGES[damage];
  const bytes = make(base.bytes, random, base.container);
  writeSync(1, `> ${index}\n`);
  const result = await outcomeOf(bytes);
  const tensor = result.outcome === 'tensor';
  if (result.problem === undefined && expected !== 'any' && tensor !== (expected === 'tensor')) {
    result.problem = `${expected} was expected`;
  }
  const { rss } = process.memoryUsage();
  writeSync(1, `${JSON.stringify({ index, base: base.name, damage, ...result, rss })}\n`);
}
await pre.close();
// In KiB, as getrusage has it.
writeSync(1, `${JSON.stringify({ peakRss: process.resourceUsage().maxRSS * 1024 })}\n`);
