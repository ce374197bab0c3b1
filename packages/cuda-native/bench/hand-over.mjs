// What it costs to hand a 4K float tensor (99.5 MB) to another process: through a pipe, and by shared memory that is
// already filled. Needs a build. Prints the median of 11 rounds each; the clock runs from the parent's write, or its
// message with the key, until the child says that it has read the last byte.
import { spawn } from 'node:child_process';
import { SharedMemory } from '../dist/index.js';

const BYTES = 3 * 2160 * 3840 * 4;
const ROUNDS = 11;
const entry = new URL('../dist/index.js', import.meta.url).href;

const CHILD = `
  import { SharedMemory } from ${JSON.stringify(entry)};
  let last, seen = 0;
  process.stdin.on('data', (chunk) => {
    seen += chunk.length;
    last = chunk[chunk.length - 1];
    if (seen === ${BYTES}) { seen = 0; process.send(last); }
  });
  process.on('message', async (key) => {
    const memory = await SharedMemory.open(key);
    const bytes = new Uint8Array(memory.buffer);
    last = bytes[bytes.length - 1];
    process.send(last);
    memory.close();
  });
  process.send('ready');
`;

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

const memory = await SharedMemory.create(`/zerohop-bench-${process.pid}`, BYTES);
new Uint8Array(memory.buffer).fill(7);
const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD], {
  stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
});
const answer = () => new Promise((resolve) => child.once('message', resolve));
await answer();

async function time(handOver) {
  const took = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    const answered = answer();
    handOver();
    if ((await answered) !== 7) throw new Error('The child read something else');
    took.push(performance.now() - began);
  }
  return median(took);
}

const bytes = Buffer.from(memory.buffer);
const piped = await time(() => child.stdin.write(bytes));
const shared = await time(() => child.send(memory.key));
console.log(
  `pipe ${piped.toFixed(1)} ms, shared memory ${shared.toFixed(2)} ms (p50 of ${ROUNDS}, Node ${process.version})`,
);
child.kill();
memory.close();
