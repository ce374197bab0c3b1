import { setTimeout as pause } from 'node:timers/promises';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { region, TritonClient, tensor } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DevServer } from '../../src/dev-server.js';
import { ShmObject } from '../support/shm-object.js';
import { TwinRepository } from '../support/twin-repository.js';

interface Addresses {
  readonly grpcUrl: string;
  readonly metricsUrl: string;
}

const SHAPE = [1, 4];
const BYTES = 16;
/** The folder's own has several instances. */
const ONE_INSTANCE = {
  backend: 'python',
  input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
  output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
  instance_group: [{ count: 1, kind: 'KIND_CPU' }],
} as const;
/** How long the request before keeps the model's only instance, in milliseconds. */
const HELD_MS = 2500;

async function pendingRequests(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^nv_inference_pending_request_count\{model="slow".*\} (\d+)$/m.exec(text)?.[1]);
}

/** What a model gives for an input that its client wrote anew while the request waited. */
async function lateInput({ grpcUrl, metricsUrl }: Addresses): Promise<readonly number[]> {
  const client = new TritonClient(grpcUrl);
  try {
    await client.loadModel('slow', { config: ONE_INSTANCE });
    const object = new ShmObject(2 * BYTES);
    object.fillPart(0, new Float32Array(4).fill(1));
    await client.systemSharedMemory.register({ name: 'late', key: object.key, byteLength: 2 * BYTES });
    const held = client.infer('slow', {
      inputs: { INPUT0: tensor('FP32', SHAPE, new Float32Array(4)) },
      parameters: { ms: HELD_MS },
    });
    await pause(HELD_MS / 5);
    const queued = client.infer('slow', {
      inputs: { INPUT0: region('late', { datatype: 'FP32', shape: SHAPE }) },
      outputs: { OUTPUT0: { region: 'late', byteOffset: BYTES, byteLength: BYTES } },
      parameters: { ms: 0 },
    });
    await expect.poll(() => pendingRequests(metricsUrl), { timeout: 20_000 }).toBeGreaterThan(0);
    object.fillPart(0, new Float32Array(4).fill(2));
    await Promise.all([held, queued]);
    const bytes = object.bytes();
    return Array.from({ length: 4 }, (_, at) => bytes.readFloatLE(BYTES + 4 * at));
  } finally {
    await client.close();
  }
}

describeTier(
  'triton',
  'a write to an input that waits',
  () => {
    const twins = new TwinRepository(['slow']);
    let real: Awaited<ReturnType<typeof privateTriton>>;
    let ours: DevServer;

    beforeAll(async () => {
      [real, ours] = await Promise.all([
        privateTriton({ models: ['slow'] }),
        DevServer.start({ modelRepository: twins.path, modelControl: 'explicit' }),
      ]);
    });

    afterAll(async () => {
      await ours.kill();
      await real.stop();
      twins.remove();
    });

    test('is seen by the model, here and there', async () => {
      expect(await lateInput(real)).toEqual([2, 2, 2, 2]);
      expect(await lateInput(ours)).toEqual([2, 2, 2, 2]);
    });
  },
  { needs: ['addon'] },
);
