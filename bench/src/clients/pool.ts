import { installShutdown, type Lease, TensorPool } from '@zerohop/shm-pool';
import { TritonClient } from '@zerohop/triton-client';
import { exitOnSignals, leaveSignal } from '../child.js';
import { measureLoop } from '../loop.js';
import type { MeasureSpec } from '../measure-spec.js';
import type { Measurement } from '../results.js';

/** Ours: a slot and a lane for each request in flight, lent and returned for every request. */
export async function measurePool(spec: MeasureSpec): Promise<Measurement> {
  exitOnSignals();
  const client = new TritonClient(spec.grpcUrl, { lanes: spec.inFlight });
  try {
    const pool = await TensorPool.open(client, {
      model: spec.model,
      slots: spec.inFlight,
      transport: spec.transport,
      ...(spec.transport === 'cuda' && { serverDeviceId: 0 }),
    });
    const removeShutdown = installShutdown(pool);
    const endLeave = leaveSignal();
    try {
      const input = new Float32Array(spec.inputByteLength / Float32Array.BYTES_PER_ELEMENT).fill(1);
      await onEverySlot(pool, spec.inFlight, (lease) => lease.input('INPUT0').write(input));
      const measurement = await measureLoop(
        spec.work === 'infer' ? infer(pool) : writeInferRead(pool, input, spec),
        spec,
      );
      await onEverySlot(pool, spec.inFlight, checkAnswer);
      return measurement;
    } finally {
      endLeave();
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

function writeInferRead(pool: TensorPool, input: Float32Array, spec: MeasureSpec): () => Promise<void> {
  const output = new Float32Array(spec.outputByteLength / Float32Array.BYTES_PER_ELEMENT);
  return async () => {
    const lease = pool.tryAcquire() ?? (await pool.acquire());
    await lease.input('INPUT0').write(input);
    const reply = await lease.infer();
    await reply.output<'FP32'>('OUTPUT0').read(output);
    lease.release();
  };
}

async function onEverySlot(pool: TensorPool, slots: number, work: (lease: Lease) => Promise<unknown>): Promise<void> {
  const leases = await Promise.all(Array.from({ length: slots }, () => pool.acquire()));
  try {
    for (const lease of leases) await work(lease);
  } finally {
    for (const lease of leases) lease.release();
  }
}

/** Copies and sums of ones are not zero: a zero says that the model was measured without its input. */
async function checkAnswer(lease: Lease): Promise<void> {
  const reply = await lease.infer();
  const output = await reply.output<'FP32'>('OUTPUT0').read();
  if (!output[0] || !output.at(-1)) throw new Error('the answer holds zeros: the input was not there');
}
