// What one small request costs as a unary call of grpc-js and on a lane, in alternating rounds on one machine, against a
// real Triton server and a model that copies 16 KB in system shared memory.
//   node bench/lanes.mjs        (after a build, in this folder; TRITON_URL names a server with the model identity_64)
import { unlinkSync, writeFileSync } from 'node:fs';
import { arch, cpus, release } from 'node:os';
import { Client, credentials } from '@grpc/grpc-js';
import { startTriton } from '@zerohop/local-triton';
import { region, TritonClient } from '../dist/index.js';

const ROUNDS = 12;
const REQUESTS = 1500;
const MODEL = 'identity_64';
const BLOCK = 64 * 64 * 4;
const NAME = `zerohop-bench-${process.pid}`;

/** The request of the unary call: the bytes that a generated codec would give, made once. */
function unaryRequest() {
  const field = (number, ...parts) => {
    const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
    return Buffer.concat([Buffer.of(number * 8 + 2, bytes.length), bytes]);
  };
  const varint = (value) => (value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]);
  const entry = (number, key, value) => field(number, field(1, key), field(2, value));
  const place = (number, byteOffset) => [
    entry(number, 'shared_memory_region', field(3, NAME)),
    entry(number, 'shared_memory_byte_size', [2 * 8, ...varint(BLOCK)]),
    entry(number, 'shared_memory_offset', [2 * 8, ...varint(byteOffset)]),
  ];
  return Buffer.concat([
    field(1, MODEL),
    field(5, field(1, 'INPUT0'), field(2, 'FP32'), field(3, [64, 64]), ...place(4, 0)),
    field(6, field(1, 'OUTPUT0'), ...place(2, BLOCK)),
  ]);
}

async function measure(request) {
  const times = new Float64Array(REQUESTS);
  const before = process.cpuUsage();
  for (let i = 0; i < REQUESTS; i += 1) {
    const start = performance.now();
    await request();
    times[i] = performance.now() - start;
  }
  const { user, system } = process.cpuUsage(before);
  times.sort();
  return {
    p50Us: times[REQUESTS >> 1] * 1000,
    p99Us: times[Math.floor(REQUESTS * 0.99)] * 1000,
    cpuUs: (user + system) / REQUESTS,
  };
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

const own = process.env.TRITON_URL
  ? undefined
  : await startTriton({ modelRepository: '../../tests/models', models: [MODEL] });
const url = process.env.TRITON_URL ?? own.grpcUrl;
const client = new TritonClient(url);
const unaryClient = new Client(url.replace('grpc://', ''), credentials.createInsecure());
try {
  writeFileSync(`/dev/shm/${NAME}`, Buffer.alloc(2 * BLOCK), { mode: 0o600 });
  await client.systemSharedMemory.register({ name: NAME, key: `/${NAME}`, byteLength: 2 * BLOCK });
  const prepared = client.prepare(MODEL, {
    inputs: { INPUT0: region(NAME, { datatype: 'FP32', shape: [64, 64] }) },
    outputs: { OUTPUT0: { region: NAME, byteOffset: BLOCK, byteLength: BLOCK } },
  });
  const bytes = unaryRequest();
  const same = (buffer) => buffer;
  const path = '/inference.GRPCInferenceService/ModelInfer';
  const unary = () =>
    new Promise((resolve, reject) => {
      unaryClient.makeUnaryRequest(path, same, same, bytes, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    });
  const lane = async () => (await prepared.infer()).output('OUTPUT0').shape;
  const rows = { 'unary call': unary, 'lane, prepared request': lane };
  const results = Object.fromEntries(Object.keys(rows).map((name) => [name, []]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [name, request] of Object.entries(rows)) {
      const result = await measure(request);
      // The first round warms up.
      if (round >= 0) results[name].push(result);
    }
  }
  const { version } = await client.serverMetadata();
  console.log(
    `Triton ${version}, Node ${process.version}, ${cpus().length}x ${cpus()[0]?.model}, ${arch()} ${release()}`,
  );
  for (const [name, list] of Object.entries(results)) {
    const of = (key) => median(list.map((result) => result[key])).toFixed(0);
    console.log(`${name}: p50 ${of('p50Us')} us, p99 ${of('p99Us')} us, CPU ${of('cpuUs')} us a request`);
  }
} finally {
  await client.systemSharedMemory.unregister(NAME).catch(() => {});
  await client.close();
  unaryClient.close();
  unlinkSync(`/dev/shm/${NAME}`);
  await own?.stop();
}
