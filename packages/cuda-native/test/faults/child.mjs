// Runs tours, one for each round it is given, and tells what happened: a line of JSON for each.
//   node --expose-gc child.mjs '{"rounds": [{"fault": "cuMemAlloc#1=2", "only": ["memory"]}], "log": …, "report": …, …}'
import * as cuda from '../../dist/index.js';
import * as nvjpeg from '../../dist/nvjpeg.js';
import { Tour } from './tour.mjs';

const { rounds, ...options } = JSON.parse(process.argv[2] ?? '{}');
options.peer.handle.rawHandle = Uint8Array.from(options.peer.handle.rawHandle);
const tour = new Tour({ ...cuda, ...nvjpeg }, options);
for (const [round, { fault, only }] of rounds.entries()) {
  // Calls are counted anew.
  process.env.ZEROHOP_FAKE_EPOCH = String(round + 1);
  process.env.ZEROHOP_FAKE_FAIL = fault;
  const outcome = await tour.run(only);
  process.env.ZEROHOP_FAKE_FAIL = '';
  process.stdout.write(`${JSON.stringify({ fault, ...outcome })}\n`);
}
