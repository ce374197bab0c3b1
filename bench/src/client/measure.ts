/**
 * One measurement of one Node client in a process of its own: `node client/measure.js SPEC`, a ClientSpec in JSON; prints
 * a Measurement in JSON.
 */
import { exitOnSignals } from '../child.js';
import { measureLoop } from '../loop.js';
import { makeBareStream, makeNodeHttp2 } from './bare.js';
import type { ClientName } from './cases.js';
import { makeNodeHttp } from './node-http.js';
import { makeOurs, type Requester } from './ours.js';
import { makeProtoLoader } from './proto-loader.js';
import type { ClientSpec } from './spec.js';

const spec = JSON.parse(process.argv[2] ?? '') as ClientSpec;

const PEERS: Partial<Record<ClientName, (spec: ClientSpec) => Promise<Requester>>> = {
  'bare-stream': makeBareStream,
  'node-http': makeNodeHttp,
  'node-http2': makeNodeHttp2,
  'proto-loader': makeProtoLoader,
};

/** The most that was resident so far, in bytes. */
const peak = () => process.resourceUsage().maxRSS * 1024;

async function main(): Promise<void> {
  exitOnSignals();
  const requester = await (PEERS[spec.client] ?? makeOurs)(spec);
  try {
    const before = peak();
    const measurement = await measureLoop(requester.requests, spec);
    process.stdout.write(`${JSON.stringify({ ...measurement, rssGrowthBytes: peak() - before })}\n`);
  } finally {
    await requester.close();
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
