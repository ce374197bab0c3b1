import { setTimeout as delay } from 'node:timers/promises';
import { type PreparedRequest, region, TritonClient, tensor } from '@zerohop/triton-client';
import { openRegion, outputOffset } from '../region.js';
import { type ClientHoldings, clientGrowth, clientHoldings } from './holdings.js';
import { Outcomes } from './outcomes.js';
import { RevivedServer } from './revived-server.js';

const IN_FLIGHT = 16;
const BYTES = 64;
const PARTS = 10;
const MODEL = 'py_identity_small';
/** How a request ends whose server dies. */
const WITH_SERVER = new Set(['TRITON_CONNECTION_LOST', 'TRITON_UNAVAILABLE']);

export interface SoakReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly settlements: Readonly<Record<string, number>>;
  readonly readings: readonly ClientHoldings[];
  /** How often the server died of itself and was started again. */
  readonly serverDeaths?: number;
  readonly problems: readonly string[];
}

/**
 * `count` requests, 16 at a time: half of them prepared and in shared memory, the others in the message; of each hundred
 * one goes to a model that is not there, one names a region that is not there, one is aborted by its caller. What a server
 * that dies had in flight ends with a code, and the others wait for the next one.
 */
export async function soakRequests(count: number, onProgress: (text: string) => void): Promise<SoakReport> {
  const server = await RevivedServer.start(MODEL, async () => {
    while (!(await client.isLive())) await delay(50);
    for (const slot of slots) await slot.register();
  });
  const client = new TritonClient(server.grpcUrl);
  const outcomes = new Outcomes();
  const slots = await Promise.all(Array.from({ length: IN_FLIGHT }, () => openSlot(client)));
  const readings = [await clientHoldings(0)];
  try {
    for (let part = 1, done = 0; part <= PARTS; part += 1) {
      const end = Math.round((count * part) / PARTS);
      const first = done;
      await Promise.all(
        slots.map(async ({ prepared }, worker) => {
          for (let i = first + worker; i < end; i += IN_FLIGHT) {
            await server.up;
            if (WITH_SERVER.has(await one(client, prepared, i, outcomes))) await server.noticed();
          }
        }),
      );
      done = end;
      readings.push(await clientHoldings(done));
      onProgress(`${done} requests: ${JSON.stringify(outcomes.counts)}`);
    }
  } finally {
    await Promise.allSettled(slots.map((slot) => slot.close()));
    await client.close();
    await server.stop();
  }
  const { counts, settlements } = outcomes;
  const { deaths } = server;
  const problems = [...problemsOf(outcomes, count, deaths), ...clientGrowth(readings)];
  return { counts, settlements, readings, serverDeaths: deaths, problems };
}

/** What must be: all answered or refused as asked, none left open, none untyped. */
function problemsOf(outcomes: Outcomes, count: number, deaths: number): string[] {
  const { counts, untyped, open } = outcomes;
  const problems = untyped.map((text) => `an error without a code: ${text}`);
  if (open > 0) problems.push(`${open} calls were never settled`);
  const hundreds = Math.floor(count / 100);
  // What a dying server has in flight may be of any sort.
  const lost = deaths * IN_FLIGHT;
  const refused = counts.TRITON_NOT_FOUND ?? 0;
  if (refused < 2 * hundreds - lost) problems.push(`${refused} of ${2 * hundreds} ended with TRITON_NOT_FOUND`);
  const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
  if (total !== count) problems.push(`${total} of ${count} calls ended`);
  const allowed = new Set(['answer', 'aborted', 'TRITON_NOT_FOUND']);
  let withServer = 0;
  for (const [code, n] of Object.entries(counts)) {
    if (WITH_SERVER.has(code)) withServer += n;
    else if (!allowed.has(code)) problems.push(`${n} ended with ${code}`);
  }
  if (withServer > lost) problems.push(`${withServer} ended with a server that died ${deaths} times`);
  return problems;
}

async function one(client: TritonClient, prepared: PreparedRequest, i: number, outcomes: Outcomes): Promise<string> {
  const data = new Float32Array(BYTES / 4).fill(i % 1000);
  const inMessage = { inputs: { INPUT0: tensor('FP32', [BYTES / 4], data) } };
  switch (i % 100) {
    case 7:
      return outcomes.watch(client.infer('no_such_model', inMessage));
    case 17: {
      const gone = { INPUT0: region('no-such-region', { datatype: 'FP32', shape: [BYTES / 4] }) };
      return outcomes.watch(client.infer(MODEL, { inputs: gone }));
    }
    case 27: {
      const reason = new Error('left');
      const controller = new AbortController();
      const watched = outcomes.watch(prepared.infer({ signal: controller.signal }), reason);
      controller.abort(reason);
      return watched;
    }
    default:
      if (i % 2 === 0) return outcomes.watch(prepared.infer());
      return outcomes.watch(client.infer(MODEL, inMessage));
  }
}

async function openSlot(client: TritonClient) {
  const { name, register, close } = await openRegion(client, {
    purpose: 'soak',
    transport: 'system',
    input: new Float32Array(BYTES / 4),
    outputByteLength: BYTES,
  });
  const prepared = client.prepare(MODEL, {
    inputs: { INPUT0: region(name, { datatype: 'FP32', shape: [BYTES / 4] }) },
    outputs: { OUTPUT0: { region: name, byteOffset: outputOffset(BYTES), byteLength: BYTES } },
  });
  return { prepared, register, close };
}
