import { setTimeout as delay } from 'node:timers/promises';
import { startTriton } from '@zerohop/local-triton';
import { TensorPool } from '@zerohop/shm-pool';
import { TritonClient } from '@zerohop/triton-client';
import { buildFolder, MODELS } from '../server.js';
import type { PoolSpec } from './spec.js';

/** Milliseconds from the first "ready" of a server, as its HTTP endpoint says it, to the first good answer. */
export interface FromReady {
  /** By a client and a pool that are made then. */
  readonly opened: number;
  /** By a pool whose server was killed and has come back on its port. */
  readonly survived: number;
}

/** Starts a server and kills it, `times` times. */
export async function measureFromReady(spec: Omit<PoolSpec, 'grpcUrl'>, times: number): Promise<FromReady[]> {
  const { model, transport } = spec;
  const options = { model, transport, slots: 4, ...(transport === 'cuda' && { serverDeviceId: 0 }) };
  const input = new Float32Array(spec.inputShape.reduce((product, each) => product * each, 1)).fill(3);
  const answer = async (pool: TensorPool) => {
    await pool.run(
      async (lease) => {
        await lease.input('INPUT0').write(input);
        const reply = await lease.infer({ timeoutMs: 2000 });
        const output = await reply.output<'FP32'>('OUTPUT0').read();
        if (output[0] !== 3 || output.at(-1) !== 3) throw new Error('a wrong answer');
      },
      { timeoutMs: 2000 },
    );
    return performance.now();
  };
  const backend = await buildFolder();
  const start = (ports?: { http: number; grpc: number; metrics: number }) =>
    startTriton({
      ...{ modelRepository: MODELS, models: [model], backendDirectories: [backend] },
      ...(ports && { ports }),
    });
  let server = await start();
  const { ports, grpcUrl, httpUrl } = server;
  const client = new TritonClient(grpcUrl);
  const surviving = await TensorPool.open(client, options);
  const figures: FromReady[] = [];
  try {
    await answer(surviving);
    for (let time = 0; time < times; time += 1) {
      server.kill('SIGKILL');
      await server.whenEnded();
      const starting = start(ports);
      starting.catch(() => undefined);
      const ready = whenReady(httpUrl);
      const answered = untilAnswered(() => answer(surviving));
      const readyAt = await ready;
      const fresh = new TritonClient(grpcUrl);
      const pool = await TensorPool.open(fresh, options);
      const openedAt = await answer(pool);
      figures.push({ opened: openedAt - readyAt, survived: (await answered) - readyAt });
      await pool.close();
      await fresh.close();
      server = await starting;
    }
  } finally {
    await surviving.close({ timeoutMs: 1000 });
    await client.close();
    await server.stop();
  }
  return figures;
}

async function whenReady(httpUrl: string): Promise<number> {
  for (;;) {
    const response = await fetch(`${httpUrl}/v2/health/ready`).catch(() => undefined);
    if (response?.ok) return performance.now();
    await delay(2);
  }
}

async function untilAnswered(answer: () => Promise<number>): Promise<number> {
  for (;;) {
    try {
      return await answer();
    } catch {
      // The server is away.
      await delay(5);
    }
  }
}
