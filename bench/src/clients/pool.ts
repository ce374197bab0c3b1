import { installShutdown, TensorPool } from '@zerohop/shm-pool';
import { TritonClient } from '@zerohop/triton-client';
import { exitOnSignals } from '../child.js';
import { measureLoop } from '../loop.js';
import type { MeasureSpec } from '../measure-spec.js';
import type { Measurement } from '../results.js';

/** Ours: a slot and a lane for each request in flight, lent and returned for every request. */
export async function measurePool(spec: MeasureSpec): Promise<Measurement> {
  const removeExit = exitOnSignals();
  const client = new TritonClient(spec.grpcUrl, { lanes: spec.inFlight });
  try {
    const pool = await TensorPool.open(client, {
      model: spec.model,
      slots: spec.inFlight,
      transport: spec.transport,
      ...(spec.transport === 'cuda' && { serverDeviceId: 0 }),
    });
    removeExit();
    const removeShutdown = installShutdown(pool);
    try {
      return await measureLoop(spec.work === 'infer' ? infer(pool) : await writeInferRead(pool), spec);
    } finally {
      removeShutdown();
      await pool.close();
    }
  } finally {
    await client.close();
  }
}

function infer(pool: TensorPool): () => Promise<void> {
  return async () => {
    const lease = pool.tryAcquire() ?? (await pool.acquire());
    await lease.infer();
    lease.release();
  };
}

async function writeInferRead(pool: TensorPool): Promise<() => Promise<void>> {
  const probe = await pool.acquire();
  const input = new Float32Array(probe.input('INPUT0').byteLength / Float32Array.BYTES_PER_ELEMENT).fill(1);
  const output = new Float32Array(probe.output('OUTPUT0').byteLength / Float32Array.BYTES_PER_ELEMENT);
  probe.release();
  return async () => {
    const lease = pool.tryAcquire() ?? (await pool.acquire());
    await lease.input('INPUT0').write(input);
    const reply = await lease.infer();
    await reply.output<'FP32'>('OUTPUT0').read(output);
    lease.release();
  };
}
