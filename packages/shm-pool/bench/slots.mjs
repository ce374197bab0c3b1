// What a pool saves: one request of 16 KiB in and out through system shared memory, three ways, against a real server
// from tests/models. After a build: node bench/slots.mjs [rounds]
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { SharedMemory } from '@zerohop/cuda-native';
import { startTriton } from '@zerohop/local-triton';
import { TensorPool } from '@zerohop/shm-pool';
import { region, TritonClient } from '@zerohop/triton-client';

const ROUNDS = Number(process.argv[2] ?? 9);
const REQUESTS = 500;
const BYTES = 64 * 64 * 4;

const modelRepository = fileURLToPath(new URL('../../../tests/models', import.meta.url));
const triton = await startTriton({ modelRepository, models: ['identity_64'] });
const client = new TritonClient(triton.grpcUrl);
const pool = await TensorPool.open(client, { model: 'identity_64', slots: 1, transport: 'system' });

const requestFor = (name) => ({
  inputs: { INPUT0: region(name, { datatype: 'FP32', shape: [64, 64] }) },
  outputs: { OUTPUT0: { region: name, byteOffset: BYTES, byteLength: BYTES } },
});

const memory = await SharedMemory.create(`/bench-${randomBytes(8).toString('hex')}`, 2 * BYTES);
await client.systemSharedMemory.register({ name: 'bench', key: memory.key, byteLength: 2 * BYTES });
const prepared = client.prepare('identity_64', requestFor('bench'));

/** Straight after the answer a server may still count the request: "in use". */
async function unregister(name) {
  try {
    await client.systemSharedMemory.unregister(name);
  } catch (error) {
    if (!/currently in use/.test(error.message)) throw error;
    await unregister(name);
  }
}

let serial = 0;
const ways = {
  'bare prepared request, its region registered once': async () => {
    const result = await prepared.infer();
    return result.outputs[0].shape;
  },
  'pool: acquire, infer, release': async () => {
    const lease = await pool.acquire();
    const reply = await lease.infer();
    lease.release();
    return reply;
  },
  'create, register, infer, unregister for each request': async () => {
    serial += 1;
    const name = `bench-${process.pid}-${serial}`;
    const own = await SharedMemory.create(`/${name}`, 2 * BYTES);
    await client.systemSharedMemory.register({ name, key: own.key, byteLength: 2 * BYTES });
    await client.infer('identity_64', requestFor(name));
    await unregister(name);
    own.close();
  },
  'acquire and release alone': async () => {
    (await pool.acquire()).release();
  },
};

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const p50 = new Map(Object.keys(ways).map((name) => [name, []]));
const cpu = new Map(Object.keys(ways).map((name) => [name, []]));

for (let round = 0; round <= ROUNDS; round += 1) {
  for (const [name, way] of Object.entries(ways)) {
    const times = [];
    const before = process.cpuUsage();
    for (let request = 0; request < REQUESTS; request += 1) {
      const start = performance.now();
      await way();
      times.push((performance.now() - start) * 1000);
    }
    const used = process.cpuUsage(before);
    // The first round warms up.
    if (round === 0) continue;
    p50.get(name).push(median(times));
    cpu.get(name).push((used.user + used.system) / REQUESTS);
  }
}

for (const name of Object.keys(ways)) {
  const spread = (values) =>
    `${median(values).toFixed(1)} (${Math.min(...values).toFixed(1)}-${Math.max(...values).toFixed(1)})`;
  console.log(`${name}: p50 ${spread(p50.get(name))} us, client CPU ${spread(cpu.get(name))} us`);
}

await unregister('bench');
memory.close();
await pool.close();
await client.close();
await triton.stop();
