import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type LocalTriton, startTriton } from '@zerohop/local-triton';
import { TritonClient, tensor } from '@zerohop/triton-client';
import { ROOT } from '../server.js';
import { type ClientHoldings, clientHoldings } from './holdings.js';
import { Outcomes } from './outcomes.js';
import type { SoakReport } from './requests.js';

const IN_FLIGHT = 16;
const LIMIT_MS = 5000;
/** What a request may end with while its server is killed, starts, or has no model yet. */
const ALLOWED = new Set([
  'answer',
  'TRITON_CONNECTION_LOST',
  'TRITON_UNAVAILABLE',
  'TRITON_TIMEOUT',
  // The server is up and its models are not: "has no available versions".
  'TRITON_NOT_FOUND',
]);

/**
 * A server killed with SIGKILL and started again on the same ports, `restarts` times, each time `everyMs` after its start,
 * under sixteen requests at a time: each must end in time and with a code, and after each start answers must come.
 */
export async function soakRestarts(
  restarts: number,
  everyMs: number,
  onProgress: (text: string) => void,
): Promise<SoakReport> {
  const start = (ports?: LocalTriton['ports']) =>
    startTriton({
      modelRepository: join(ROOT, 'bench', 'models'),
      models: ['py_identity_small'],
      ...(ports !== undefined && { ports }),
    });
  let server = await start();
  const { grpcUrl, httpUrl, ports } = server;
  const clients = [grpcUrl, httpUrl].map((url) => new TritonClient(url, { closeTimeoutMs: 10_000 }));
  const outcomes = new Outcomes();
  const problems: string[] = [];
  const readings: ClientHoldings[] = [await clientHoldings(0)];
  let ending = false;
  const input = { INPUT0: tensor('FP32', [16], new Float32Array(16).fill(1)) };
  const work = Array.from({ length: IN_FLIGHT }, async (_, worker) => {
    const client = clients[worker % clients.length] as TritonClient;
    while (!ending) {
      const began = performance.now();
      await outcomes.watch(client.infer('py_identity_small', { inputs: input }, { timeoutMs: LIMIT_MS }));
      // Nothing answers: not as fast as one can.
      if (performance.now() - began < 1) await delay(5);
    }
  });
  try {
    for (let i = 1; i <= restarts; i += 1) {
      await delay(everyMs);
      server.kill('SIGKILL');
      await server.whenEnded();
      server = await start(ports);
      const before = outcomes.counts.answer ?? 0;
      await delay(Math.min(2 * LIMIT_MS, everyMs));
      const answers = (outcomes.counts.answer ?? 0) - before;
      if (answers === 0) problems.push(`no answer after start ${i}`);
      onProgress(`${i} restarts: ${JSON.stringify(outcomes.counts)}`);
    }
  } finally {
    ending = true;
    await Promise.race([Promise.all(work), delay(4 * LIMIT_MS, undefined, { ref: false })]);
    await Promise.all(clients.map((client) => client.close()));
    await server.stop();
  }
  readings.push(await clientHoldings(Object.values(outcomes.counts).reduce((sum, n) => sum + n, 0)));
  if (outcomes.open > 0) problems.push(`${outcomes.open} calls were never settled`);
  for (const text of outcomes.untyped) problems.push(`an error without a code: ${text}`);
  for (const code of Object.keys(outcomes.counts)) if (!ALLOWED.has(code)) problems.push(`some ended with ${code}`);
  return { counts: outcomes.counts, settlements: outcomes.settlements, readings, problems };
}
