// Tensors in the message, against a real Triton server and a model that copies: by this client over HTTP, by a bare writer
// on node:http, and on a lane, in alternating rounds; then by how much a process grows that sends and gets 99.5 MB.
//   node bench/large-tensors.mjs        (after a build, in this folder)
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { arch, cpus, release } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startTriton } from '@zerohop/local-triton';
import { TritonClient, tensor } from '../dist/index.js';

const MODEL = 'identity';
const ROUNDS = 12;
/** Rows and columns of FP32; the last one is a picture of 3840 x 2160 pixels, 99.5 MB. */
const SHAPES = [
  [64, 64],
  [128, 128],
  [256, 128],
  [256, 256],
  [512, 512],
  [1024, 1024],
  [2160, 3840 * 3],
];
/** About so many bytes are sent in one measurement. */
const BYTES = 100_000_000;

/** The request that the client sends, with nothing around it. The answer is read into one buffer. */
function bareWriter(url) {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  const infer = ({ shape, data }) =>
    new Promise((resolve, reject) => {
      const inputs = [{ name: 'INPUT0', datatype: 'FP32', shape, parameters: { binary_data_size: data.byteLength } }];
      const head = Buffer.from(JSON.stringify({ parameters: { binary_data_output: true }, inputs }));
      const headers = {
        'content-length': head.byteLength + data.byteLength,
        'inference-header-content-length': head.byteLength,
      };
      const path = `/v2/models/${MODEL}/infer`;
      const sent = httpRequest({ agent, hostname, port, path, method: 'POST', headers }, (response) => {
        const body = Buffer.allocUnsafeSlow(Number(response.headers['content-length']));
        let length = 0;
        response.on('data', (chunk) => {
          length += chunk.copy(body, length);
        });
        response.on('end', () => {
          const start = Number(response.headers['inference-header-content-length']);
          JSON.parse(body.toString('utf8', 0, start));
          resolve(body.subarray(start));
        });
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.write(head);
      sent.end(data);
    });
  return { infer, close: () => agent.destroy() };
}

function inputOf(shape) {
  const values = new Float32Array(shape[0] * shape[1]).map((_, index) => index % 1000);
  return tensor('FP32', shape, values);
}

const ways = {
  'this client, HTTP': ({ httpUrl }) => {
    const client = new TritonClient(httpUrl);
    return {
      infer: async (input) => (await client.infer(MODEL, { inputs: { INPUT0: input } })).output('OUTPUT0').bytes,
      close: () => client.close(),
    };
  },
  'bare node:http': ({ httpUrl }) => bareWriter(httpUrl),
  'this client, a lane': ({ grpcUrl }) => {
    const client = new TritonClient(grpcUrl);
    return {
      infer: async (input) => (await client.infer(MODEL, { inputs: { INPUT0: input } })).output('OUTPUT0').bytes,
      close: () => client.close(),
    };
  },
};

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

async function measure(infer, input, count) {
  const before = process.cpuUsage();
  const start = performance.now();
  for (let index = 0; index < count; index += 1) {
    const { byteLength } = await infer(input);
    if (byteLength !== input.data.byteLength) throw new Error(`${byteLength} bytes came back`);
  }
  const ms = (performance.now() - start) / count;
  const { user, system } = process.cpuUsage(before);
  return { ms, cpuMs: (user + system) / 1000 / count };
}

/**
 * In a process of its own: the growth of its memory over the tensor that it has, in units of that tensor.
 * `warm`: the shape of a request before, after which Node knows how much of what it reads it may keep.
 */
async function grow(name, urls, warm) {
  const input = inputOf(SHAPES.at(-1));
  const { infer, close } = ways[name](urls);
  await infer(inputOf(warm));
  globalThis.gc();
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 2);
  await infer(input);
  peak = Math.max(peak, process.memoryUsage.rss());
  clearInterval(timer);
  await close();
  process.send((peak - before) / input.data.byteLength);
}

if (process.send !== undefined) {
  const [, , name, urls, warm] = process.argv;
  await grow(name, JSON.parse(urls), JSON.parse(warm));
  process.disconnect();
} else {
  const triton = await startTriton({ modelRepository: '../../tests/models', models: [MODEL], shmByteLength: 400e6 });
  const { grpcUrl, httpUrl } = triton;
  try {
    console.log(`Node ${process.version}, ${cpus().length}x ${cpus()[0]?.model}, ${arch()} ${release()}`);
    const open = Object.entries(ways).map(([name, make]) => [name, make({ grpcUrl, httpUrl })]);
    for (const shape of SHAPES) {
      const input = inputOf(shape);
      const count = Math.min(300, Math.max(1, Math.round(BYTES / 10 / input.data.byteLength)));
      const results = new Map(open.map(([name]) => [name, []]));
      for (let round = -1; round < ROUNDS; round += 1) {
        for (const [name, { infer }] of open) {
          const result = await measure(infer, input, count);
          // The first round warms up.
          if (round >= 0) results.get(name).push(result);
        }
      }
      console.log(`${(input.data.byteLength / 1e6).toFixed(3)} MB each way, ${ROUNDS} rounds of ${count}`);
      const bare = results.get('bare node:http');
      for (const [name, list] of results) {
        const ratio = median(list.map(({ ms }, index) => ms / bare[index].ms)).toFixed(3);
        const of = (key) => median(list.map((result) => result[key])).toFixed(3);
        console.log(`  ${name}: ${of('ms')} ms, CPU ${of('cpuMs')} ms, ${ratio} of the bare writer's time`);
      }
    }
    for (const [, { close }] of open) await close();
    for (const warm of [SHAPES[0], SHAPES.at(-2)]) {
      const first = (warm[0] * warm[1] * 4) / 1e6;
      console.log(`Growth of a process with its first 99.5 MB, after a request of ${first.toFixed(3)} MB, in tensors`);
      for (const name of Object.keys(ways)) {
        const growth = [];
        for (let run = 0; run < 5; run += 1) {
          const args = [name, JSON.stringify({ grpcUrl, httpUrl }), JSON.stringify(warm)];
          const child = fork(fileURLToPath(import.meta.url), args, { execArgv: ['--expose-gc'] });
          const [value] = await once(child, 'message');
          growth.push(value);
          if (child.exitCode === null) await once(child, 'exit');
        }
        console.log(`  ${name}: ${growth.map((value) => value.toFixed(2)).join(', ')}`);
      }
    }
  } finally {
    await triton.stop();
  }
}
