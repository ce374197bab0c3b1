import { TritonClient, tensor } from '@zerohop/triton-client';
import { type ClientHoldings, clientGrowth, clientHoldings } from './holdings.js';
import { Outcomes } from './outcomes.js';
import type { SoakReport } from './requests.js';

const PARTS = 10;

/** `count` clients, one after the other, over each URL in turn: connect, one request, close. */
export async function soakConnections(
  urls: readonly string[],
  count: number,
  onProgress: (text: string) => void,
): Promise<SoakReport> {
  const outcomes = new Outcomes();
  const readings: ClientHoldings[] = [await clientHoldings(0)];
  const input = { INPUT0: tensor('FP32', [16], new Float32Array(16).fill(1)) };
  for (let part = 1, done = 0; part <= PARTS; part += 1) {
    for (const end = Math.round((count * part) / PARTS); done < end; done += 1) {
      const client = new TritonClient(urls[done % urls.length] as string);
      await outcomes.watch(client.infer('py_identity_small', { inputs: input }));
      await client.close();
    }
    readings.push(await clientHoldings(done));
    onProgress(`${done} clients`);
  }
  const { counts, settlements, untyped } = outcomes;
  const problems = [...untyped, ...clientGrowth(readings)];
  if (counts.answer !== count) problems.push(`${counts.answer ?? 0} of ${count} were answered`);
  return { counts, settlements, readings, problems };
}
