import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { TritonClient, TritonError, tensor } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';
import { writeModel } from '../support/model-folders.js';

const CONFIG = `backend: "python"
max_batch_size: 4
input [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ]
`;
const one = (batching: string) => `${CONFIG}instance_group [ { kind: KIND_CPU } ]\n${batching}`;

/** What a request asks for itself counts only beside a default. */
const LIMIT = 'default_timeout_microseconds: 10000000 allow_timeout_override: true';

const CONFIGS: Readonly<Record<string, string>> = {
  alone: one(''),
  batched: one('dynamic_batching {}'),
  batched_two: `${CONFIG}instance_group [ { kind: KIND_CPU count: 2 } ]\ndynamic_batching {}`,
  delayed: one('dynamic_batching { max_queue_delay_microseconds: 500000 }'),
  preferred: one('dynamic_batching { preferred_batch_size: [ 2 ] }'),
  preferred_delayed: one('dynamic_batching { preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 1500000 }'),
  limited: one(`dynamic_batching { default_queue_policy { max_queue_size: 4 ${LIMIT} } }`),
  postponed: one(`dynamic_batching { default_queue_policy { timeout_action: DELAY ${LIMIT} } }`),
  levels: one('dynamic_batching { priority_levels: 2 default_priority_level: 1 }'),
  levels_limited: one(`dynamic_batching {
    priority_levels: 2 default_priority_level: 2 default_queue_policy { ${LIMIT} }
    priority_queue_policy { key: 2 value { max_queue_size: 3 } } }`),
};
const PYTHON = `import time
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        time.sleep(1)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", request.inputs()[0].as_numpy())]) for request in requests]
`;
const JAVASCRIPT = `import { setTimeout as pause } from 'node:timers/promises';
export default async ({ inputs: { X } }) => {
  await pause(1000);
  return { Y: X };
};
`;

/**
 * What becomes of requests that come while the first one runs, of which one is cancelled, one may not wait and one has another
 * priority; in which batches they ran, and what was counted.
 */
async function seen({ grpcUrl, metricsUrl }: { readonly grpcUrl: string; readonly metricsUrl: string }, model: string) {
  await using client = new TritonClient(grpcUrl);
  const abort = new AbortController();
  const ask = (more: object = {}, signal?: AbortSignal) =>
    client
      .infer(
        model,
        { inputs: { X: tensor('FP32', [1, 1], Float32Array.of(1)) }, ...more },
        // Of its own, so that it is no lane's.
        { headers: { 'x-unary': '1' }, onAbort: 'cancel', ...(signal === undefined ? {} : { signal }) },
      )
      .then(
        () => 'OK',
        (error: unknown) => (error instanceof TritonError ? error.details : 'cancelled'),
      );
  const answers = [ask()];
  await pause(250);
  for (const next of [
    () => ask(),
    () => ask({}, abort.signal),
    () => {
      abort.abort();
      return ask({ queueTimeoutUs: 1000 });
    },
    () => ask({ priority: 2 }),
    () => ask({ priority: 1 }),
    () => ask(),
    () => ask(),
  ]) {
    answers.push(next());
    await pause(60);
  }
  const got = await Promise.all(answers);
  const ofModel = async () => {
    const lines = (await (await fetch(metricsUrl)).text()).split('\n');
    return lines.filter(
      (line) =>
        /^nv_inference_(count|exec_count|request_\w+)\{/.test(line) &&
        line.includes(`"${model}"`) &&
        !line.includes('_us'),
    );
  };
  // The counters follow an answer by a moment.
  await pause(200);
  const [statistics] = await client.modelStatistics(model);
  const batches = statistics?.batches.map(({ batchSize, computeInfer }) => [batchSize, computeInfer.count]);
  const { success, fail, queue } = statistics ?? {};
  return { got, batches, counts: [success?.count, fail?.count, queue?.count], metrics: (await ofModel()).sort() };
}

async function allSeen(server: { readonly grpcUrl: string; readonly metricsUrl: string }) {
  const found: Record<string, unknown> = {};
  for (const model of Object.keys(CONFIGS)) found[model] = await seen(server, model);
  return found;
}

describeTier('triton', 'queues and their statistics are those of a real 2.51', () => {
  test('who runs together, who is refused, and what is counted', async () => {
    const repository = mkdtempSync(join(tmpdir(), 'zerohop-queues-'));
    onTestFinished(() => rmSync(repository, { recursive: true }));
    for (const [name, config] of Object.entries(CONFIGS)) {
      writeModel(join(repository, name), config);
      writeFileSync(join(repository, name, '1', 'model.py'), PYTHON);
      writeFileSync(join(repository, name, '1', 'model.mjs'), JAVASCRIPT);
    }
    const triton = await privateTriton({ modelRepository: repository });
    onTestFinished(() => triton.stop());
    const server = await DevServer.start({ modelRepository: repository });
    onTestFinished(() => server.stop());
    const [there, here] = await Promise.all([allSeen(triton), allSeen(server)]);
    expect(here).toEqual(there);
  }, 120_000);
});
