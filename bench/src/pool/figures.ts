/**
 * What a pool costs, in a process of its own: `node --expose-gc --min-semi-space-size=512 --max-semi-space-size=512 pool/figures.js SPEC`, a PoolSpec
 * in JSON; prints PoolFigures in JSON. Blocks of a pool's requests and of bare ones take turns.
 */
import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { TensorPool } from '@zerohop/shm-pool';
import { region, TritonClient } from '@zerohop/triton-client';
import { exitOnSignals } from '../child.js';
import { openRegion, outputOffset } from '../region.js';
import { medianInterval, percentile, spread } from '../statistics.js';
import { instantClient } from './instant-client.js';
import { byteLengthOf, type PoolFigures, type PoolSpec } from './spec.js';

/** In a block of what takes no time to speak of, and how many of them are timed together. */
const TURNS = 100_000;
const BATCH = 100;
const WAITING = 32;

interface Block {
  readonly p50Us: number;
  readonly cpuUs: number;
  /** Undefined when the collector ran meanwhile. */
  readonly garbageBytes: number | undefined;
}

/** When the collector ran, on the clock of `performance.now()`. */
const collections: number[] = [];
const observer = new PerformanceObserver((list) => {
  for (const { startTime } of list.getEntries()) collections.push(startTime);
});

/** Runs `work` so many times, and says what one cost: the time as the median of batches, the rest as a mean. */
async function block(times: number, work: () => Promise<unknown>, batch: number): Promise<Block> {
  const batches = new Float64Array(Math.ceil(times / batch));
  globalThis.gc?.();
  await turn();
  const held = bytesHeld();
  const cpu = process.cpuUsage();
  const began = performance.now();
  let then = began;
  for (let index = 0; index < batches.length; index += 1) {
    for (let left = batch; left > 0; left -= 1) await work();
    const now = performance.now();
    batches[index] = ((now - then) * 1000) / batch;
    then = now;
  }
  const { user, system } = process.cpuUsage(cpu);
  const done = batches.length * batch;
  const garbage = (bytesHeld() - held) / done;
  // Entries come in a turn of their own.
  await delay(5);
  const collected = collections.some((at) => at >= began);
  return {
    p50Us: percentile(batches.sort(), 0.5),
    cpuUs: (user + system) / done,
    garbageBytes: collected ? undefined : garbage,
  };
}

function bytesHeld(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const known = (values: readonly (number | undefined)[]): number[] => {
  const found = values.filter((value) => value !== undefined);
  if (found.length === 0)
    throw new Error('the collector ran in every block: start with a larger --max-semi-space-size');
  return found;
};

/** One block of each in every round, those of a round in turned order; the first round warms up. */
async function rounds<K extends string>(
  count: number,
  { times, batch }: { readonly times: number; readonly batch: number },
  works: Readonly<Record<K, () => Promise<unknown>>>,
): Promise<Record<K, Block[]>> {
  const names = Object.keys(works) as K[];
  const blocks = Object.fromEntries(names.map((name) => [name, [] as Block[]])) as Record<K, Block[]>;
  for (let round = -1; round < count; round += 1) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) {
      const measured = await block(times, works[name], batch);
      if (round >= 0) blocks[name].push(measured);
    }
  }
  return blocks;
}

const differences = (blocks: readonly Block[], bare: readonly Block[], of: (block: Block) => number | undefined) =>
  medianInterval(
    known(
      blocks.map((each, index) => {
        const [value, base] = [of(each), of(bare[index] as Block)];
        return value === undefined || base === undefined ? undefined : value - base;
      }),
    ),
  );

async function measure(spec: PoolSpec): Promise<PoolFigures> {
  const { grpcUrl, model, transport, inputShape, outputShape } = spec;
  const [inputBytes, outputBytes] = [byteLengthOf(inputShape), byteLengthOf(outputShape)];
  const client = new TritonClient(grpcUrl);
  const input = new Float32Array(inputBytes / 4).fill(1);
  const pool = await TensorPool.open(client, {
    ...{ model, slots: 1, transport },
    ...(transport === 'cuda' && { serverDeviceId: 0 }),
  });
  const bare = await openRegion(client, { purpose: 'pool', transport, input, outputByteLength: outputBytes });
  const prepared = client.prepare(model, {
    inputs: { INPUT0: region(bare.name, { datatype: 'FP32', shape: inputShape }) },
    outputs: { OUTPUT0: { region: bare.name, byteOffset: outputOffset(inputBytes), byteLength: outputBytes } },
  });
  const instant = instantClient(inputShape, outputShape);
  const alone = await TensorPool.open(instant, { model: 'instant', slots: 1, transport: 'system' });
  const instantly = instant.prepare('instant', { inputs: {} });
  try {
    await pool.run((lease) => lease.input('INPUT0').write(input));
    const { registerCalls } = pool.stats;
    const request = (of: TensorPool) => async () => {
      const lease = await of.acquire();
      await lease.infer();
      lease.release();
    };
    const short = { times: TURNS, batch: BATCH };
    const turns = await rounds(spec.rounds, short, {
      awaited: async () => (await pool.acquire()).release(),
      tried: () => {
        pool.tryAcquire()?.release();
        return NOTHING;
      },
      nothing: () => NOTHING,
    });
    const long = { times: spec.requests, batch: 1 };
    const requests = await rounds(spec.rounds, long, { pool: request(pool), bare: () => prepared.infer() });
    const inside = await rounds(spec.rounds, short, { pool: request(alone), bare: () => instantly.infer() });
    return {
      requestUs: spread(requests.pool.map(({ p50Us }) => p50Us)),
      bareRequestUs: spread(requests.bare.map(({ p50Us }) => p50Us)),
      loopUs: spread(turns.nothing.map(({ p50Us }) => p50Us)),
      acquireReleaseUs: spread(turns.awaited.map(({ p50Us }) => p50Us)),
      tryAcquireReleaseUs: spread(turns.tried.map(({ p50Us }) => p50Us)),
      garbageBytes: {
        acquireRelease: spread(known(turns.awaited.map(({ garbageBytes }) => garbageBytes))),
        request: spread(known(requests.pool.map(({ garbageBytes }) => garbageBytes))),
        bareRequest: spread(known(requests.bare.map(({ garbageBytes }) => garbageBytes))),
        ofThePool: differences(requests.pool, requests.bare, ({ garbageBytes }) => garbageBytes),
      },
      cpuUs: {
        request: spread(requests.pool.map(({ cpuUs }) => cpuUs)),
        bareRequest: spread(requests.bare.map(({ cpuUs }) => cpuUs)),
        ofThePool: differences(requests.pool, requests.bare, ({ cpuUs }) => cpuUs),
        ofThePoolAlone: differences(inside.pool, inside.bare, ({ cpuUs }) => cpuUs),
      },
      registerCalls: pool.stats.registerCalls - registerCalls,
      servedInOrder: await serveInOrder(pool),
    };
  } finally {
    await alone.close();
    await bare.close();
    await pool.close();
    await client.close();
  }
}

const NOTHING = Promise.resolve();

/** Thirty-two callers wait for one slot, each with a request of its own. */
async function serveInOrder(pool: TensorPool): Promise<PoolFigures['servedInOrder']> {
  const served: number[] = [];
  await Promise.all(
    Array.from({ length: WAITING }, (_, caller) =>
      pool.run(async (lease) => {
        served.push(caller);
        await lease.infer();
      }),
    ),
  );
  return { callers: served.length, outOfOrder: served.filter((caller, index) => caller !== index).length };
}

exitOnSignals();
observer.observe({ entryTypes: ['gc'] });
try {
  if (globalThis.gc === undefined) throw new Error('start this with node --expose-gc');
  const figures = await measure(JSON.parse(process.argv[2] ?? '') as PoolSpec);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
