import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { breakModel, writeModel } from '../model-folders.js';

const CONFIG = `{"backend":"python","max_batch_size":2,
  "input":[{"name":"INPUT0","data_type":"TYPE_FP32","dims":[-1]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_FP32","dims":["-1"]}]}`;

/** What a step asks of both servers, or does to the repository. */
export type Step =
  | readonly ['load', string, string?]
  | readonly ['files', string, string, string?]
  | readonly ['unload' | 'unload with parts', string]
  | readonly ['change', (repository: string) => void];

/** Configurations that come with a load: what is wrong with them, and what protobuf's JSON lets pass. */
const OVERRIDES = [
  '',
  '{',
  '{"foo":1}',
  '5',
  '[]',
  'null',
  '{}',
  '{"name":"z"}',
  '{"max_batch_size":-1}',
  '{"input":[{"name":"I","data_type":"X","dims":[1]}]}',
  '{"maxBatchSize":3}',
  "{'max_batch_size':3}",
  '{"max_batch_size":3,}',
  '{"input":[,]}',
  '{"max_batch_size":3,"max_batch_size":4}',
  '{"max_batch_size":"3"}',
  '{"max_batch_size":3.0}',
  '{"max_batch_size":3.5}',
  '{"input":[{"name":"INPUT0","data_type":11,"dims":[1]}]}',
  '{"dynamic_batching":{},"sequence_batching":{}}',
  '{"max_batch_size":null,"input":null}',
  '{"model_transaction_policy":{"decoupled":"true"}}',
  '{"max_batch_size":4,"dynamic_batching":{"priority_levels":2,"default_priority_level":1,"priority_queue_policy":{"1":{"default_timeout_microseconds":18446744073709551615}}}}',
  '{"input":[{"name":"I","data_type":"TYPE_FP32","dims":[0]}]}',
];

const LIFE: readonly Step[] = [
  ['load', 'nowhere'],
  ['unload', 'nowhere'],
  ['unload', 'a'],
  // A part that outlived its ensemble goes with it the next time.
  ['load', 'e'],
  ['unload', 'e'],
  ['load', 'e'],
  ['unload with parts', 'e'],
  ['load', 'e'],
  ['unload', 'e'],
  ['unload with parts', 'e'],
  ['unload', 'a'],
  ['load', 'three'],
  ['unload', 'three'],
  ['load', 'three'],
  ['change', (repository) => breakModel(join(repository, 'three'), '2')],
  // What runs goes on.
  ['load', 'three'],
  ['change', (repository) => writeFileSync(join(repository, 'three', 'config.pbtxt'), 'junk')],
  ['load', 'three'],
  ['unload', 'three'],
  ['load', 'three'],
  ['load', 'e'],
  ['unload', 'a'],
  ['load', 'a'],
  ['unload', 'e'],
  ['load', 'e'],
  ['unload with parts', 'e'],
  ['load', 'e'],
  ['unload with parts', 'e'],
  ['unload with parts', 'e2'],
  ['unload', 'a'],
  ['load', 'outer'],
  ['unload with parts', 'outer'],
  ['load', 'outer'],
  ['unload', 'a'],
  ['load', 'a'],
  ['unload with parts', 'outer'],
  ['unload', 'a'],
  ['load', 'e'],
  ['unload with parts', 'a'],
  ['unload', 'e'],
  ['unload', 'a'],
  ['load', 'wants_version'],
  ['unload', 'a'],
  ['load', 'broken'],
  ['unload', 'broken'],
  ['change', (repository) => writeModel(join(repository, 'broken'), undefined)],
  ['load', 'broken'],
  ['load', 'a', CONFIG],
  ['load', 'a'],
  ['change', (repository) => writeFileSync(join(repository, 'a', '1', 'note.txt'), 'changed')],
  ['load', 'a'],
  ['unload', 'a'],
];

const FILES: readonly Step[] = [
  ['files', 'fresh', '1', CONFIG],
  ['load', 'fresh'],
  ['unload', 'fresh'],
  ['load', 'fresh'],
  ['files', 'fresh', '1'],
  ['files', 'fresh', '..', CONFIG],
  ['files', 'fresh', '.', CONFIG],
  ['files', 'fresh', '5', CONFIG],
  ['unload', 'fresh'],
  ['load', 'a'],
  ['files', 'a', '3', CONFIG],
  ['load', 'a'],
  ['unload', 'a'],
  ['load', 'a'],
  ['change', (repository) => rmSync(join(repository, 'a'), { recursive: true })],
  // Unloading it then is left out: the real server is never ready again after it, for a reason that is not known.
  ['load', 'a'],
];

/** Each configuration is loaded where no model runs. */
export const LONG: readonly Step[] = [
  ...LIFE,
  ...OVERRIDES.flatMap((config): Step[] => [
    ['load', 'a', config],
    ['unload', 'a'],
  ]),
  ...FILES,
];

/** Each configuration is loaded over what runs, which those that are refused leave as it is: there is less to wait for. */
export const SHORT: readonly Step[] = [
  ...LIFE,
  ...OVERRIDES.map((config): Step => ['load', 'a', config]),
  ['unload', 'a'],
  ...FILES,
];
