import { TensorPool } from '@zerohop/shm-pool';
import { TritonClient } from '@zerohop/triton-client';
import { type Footprint, footprint, growth } from '../footprint.js';
import type { BenchServer } from '../server.js';
import { byteLengthOf, type PoolSpec } from './spec.js';

const IN_FLIGHT = 8;
/** Readings, one at the end of each part. */
const PARTS = 10;

export interface FlatRun {
  readonly requests: number;
  readonly seconds: number;
  readonly registerCalls: number;
  readonly wrongAnswers: number;
  readonly during: readonly Footprint[];
  readonly closed: Footprint;
  /** What grew, in words; empty when nothing did. */
  readonly problems: readonly string[];
}

/**
 * Many requests, eight at a time, each with a value of its own: acquire, write, infer, look, release. The model copies its
 * input. Memory here and of the server, entries of /dev/shm and the server's list of regions are read on the way.
 */
export async function runFlat(server: BenchServer, spec: PoolSpec, requests: number): Promise<FlatRun> {
  const client = new TritonClient(server.grpcUrl);
  try {
    const before = await footprint(client, server.pid);
    const began = performance.now();
    const { model, transport } = spec;
    const slots = { slots: IN_FLIGHT, ...(transport === 'cuda' && { serverDeviceId: 0 }) };
    const pool = await TensorPool.open(client, { model, transport, ...slots });
    const during: Footprint[] = [];
    let wrongAnswers = 0;
    let next = 0;
    const worker = async (end: number) => {
      const input = new Float32Array(byteLengthOf(spec.inputShape) / 4);
      const output = new Float32Array(byteLengthOf(spec.outputShape) / 4);
      while (next < end) {
        next += 1;
        const value = next % 2 ** 24;
        input.fill(value);
        const lease = pool.tryAcquire() ?? (await pool.acquire());
        await lease.input('INPUT0').write(input);
        const reply = await lease.infer();
        await reply.output<'FP32'>('OUTPUT0').read(output);
        lease.release();
        if (output.some((each) => each !== value)) wrongAnswers += 1;
      }
    };
    for (let part = 1; part <= PARTS; part += 1) {
      const end = Math.round((part * requests) / PARTS);
      await Promise.all(Array.from({ length: IN_FLIGHT }, () => worker(end)));
      during.push(await footprint(client, server.pid));
    }
    const { registerCalls } = pool.stats;
    await pool.close();
    const seconds = (performance.now() - began) / 1000;
    const closed = await footprint(client, server.pid);
    const problems = growth({ before, during, closed });
    if (wrongAnswers > 0) problems.push(`${wrongAnswers} answers were not their request's`);
    if (registerCalls !== IN_FLIGHT) problems.push(`${registerCalls} register calls for ${IN_FLIGHT} slots`);
    return { requests, seconds, registerCalls, wrongAnswers, during, closed, problems };
  } finally {
    await client.close();
  }
}
