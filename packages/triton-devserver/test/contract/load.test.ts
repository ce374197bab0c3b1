import { describeTier } from '@zerohop/test-support';
import { region, TritonClient, tensor } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { DevServer, type Execute, type ModelDefinition } from '../../src/index.js';
import { anonymousBytes, heldBytes, peakGrowth } from '../support/memory.js';
import { ShmObject } from '../support/shm-object.js';

const MIB = 2 ** 20;
/** An image of 3 × 2160 × 3840 FP32. */
const IMAGE = [3, 2160 * 3840] as const;
const IMAGE_BYTES = 3 * 2160 * 3840 * 4;

const identity: Execute = ({ inputs: { INPUT0 } }) => ({ OUTPUT0: INPUT0 as NonNullable<typeof INPUT0> });

function definition(execute: Execute, config: ModelDefinition['config'] = {}): ModelDefinition {
  return {
    config: {
      input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
      output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
      instance_group: [{ count: 1, kind: 'KIND_CPU' }],
      ...config,
    },
    execute,
  };
}

async function start(models: Readonly<Record<string, ModelDefinition>>) {
  const server = await DevServer.start({ models });
  onTestFinished(() => server.kill());
  const client = new TritonClient(server.grpcUrl);
  onTestFinished(() => client.close());
  return { server, client };
}

/** Registers an object of two halves, for an input and an output of a shape. */
async function halves(client: TritonClient, name: string, shape: readonly number[]) {
  const byteLength = shape.reduce((product, dimension) => product * dimension, 4);
  const object = new ShmObject(2 * byteLength);
  await client.systemSharedMemory.register({ name, key: object.key, byteLength: 2 * byteLength });
  return {
    object,
    input: region(name, { datatype: 'FP32', shape }),
    output: { region: name, byteOffset: byteLength, byteLength },
  };
}

/** A model of one instance that holds its first request until it is told to go on. */
function holding() {
  let begun!: () => void;
  let goOn!: () => void;
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const execute: Execute = async (request) => {
    begun();
    await mayGoOn;
    return identity(request);
  };
  return { execute, hasBegun, goOn: () => goOn() };
}

const BATCHED = { max_batch_size: 1 } as const;
const ROWS = {
  input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
  output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
} as const;

const SCHEDULERS: Readonly<Record<string, ModelDefinition['config']>> = {
  'one request at a time': {},
  'dynamic batching': { ...BATCHED, ...ROWS, dynamic_batching: {} },
  'sequence batching': { sequence_batching: {} },
};

describeTier(
  'contract',
  'load',
  () => {
    test('20,000 requests over lanes leave nothing behind', async () => {
      const { server, client } = await start({ identity: definition(identity) });
      const places = await halves(client, 'block', [1, 4]);
      const values = Float32Array.of(1, 2, 3, 4);
      const requests = [
        client.prepare('identity', { inputs: { INPUT0: tensor('FP32', [1, 4], values) } }),
        client.prepare('identity', { inputs: { INPUT0: places.input }, outputs: { OUTPUT0: places.output } }),
      ];
      const many = async (count: number) => {
        let left = count;
        const lane = async (at: number) => {
          while (left > 0) {
            left -= 1;
            await requests[at % 2]?.infer();
          }
        };
        await Promise.all(Array.from({ length: 16 }, (_, at) => lane(at)));
      };
      await many(10_000);
      const before = await heldBytes();
      await many(20_000);
      // What V8 learns of the code meanwhile; 100 bytes kept of each would be twice as much.
      expect((await heldBytes()) - before).toBeLessThan(MIB);
      const answer = await requests[0]?.infer();
      expect(answer?.output('OUTPUT0').data).toEqual(values);
      const [statistics] = await client.modelStatistics('identity');
      expect(Number(statistics?.inferenceCount)).toBe(30_001);
      expect(server.stopped).toBe(false);
    });

    test('99.5 MB through a region take no memory beside it', async () => {
      const { client } = await start({ identity: definition(identity) });
      const { object, input, output } = await halves(client, 'image', IMAGE);
      object.fillPart(0, Buffer.alloc(IMAGE_BYTES, 7));
      const request = client.prepare('identity', { inputs: { INPUT0: input }, outputs: { OUTPUT0: output } });
      // The first one maps the region's pages.
      await request.infer();
      await heldBytes();
      const before = anonymousBytes();
      const growth = await peakGrowth(() => request.infer());
      expect(growth).toBeLessThan(5 * MIB);
      expect(anonymousBytes() - before).toBeLessThan(5 * MIB);
      expect(object.bytes().subarray(IMAGE_BYTES).equals(Buffer.alloc(IMAGE_BYTES, 7))).toBe(true);
    });

    test.each(Object.entries(SCHEDULERS))('a write after the request was queued is seen: %s', async (_, config) => {
      const { execute, hasBegun, goOn } = holding();
      const { server, client } = await start({ m: definition(execute, config) });
      const { object, input, output } = await halves(client, 'block', [1, 4]);
      object.fillPart(0, new Float32Array(4).fill(1));
      const sequence = config !== undefined && 'sequence_batching' in config;
      const options = (id: bigint) => (sequence ? { sequence: { id, start: true, end: true } } : {});
      const first = client.infer('m', {
        inputs: { INPUT0: tensor('FP32', [1, 4], new Float32Array(4)) },
        ...options(1n),
      });
      await hasBegun;
      const second = client.infer('m', { inputs: { INPUT0: input }, outputs: { OUTPUT0: output }, ...options(2n) });
      await expect.poll(() => pendingRequests(server), { timeout: 20_000 }).toBe(1);
      object.fillPart(0, new Float32Array(4).fill(2));
      goOn();
      await Promise.all([first, second]);
      const bytes = object.bytes();
      expect(Array.from({ length: 4 }, (_, at) => bytes.readFloatLE(16 + 4 * at))).toEqual([2, 2, 2, 2]);
    });
  },
  { needs: ['addon'] },
);

async function pendingRequests(server: DevServer): Promise<number> {
  const text = await (await fetch(server.metricsUrl)).text();
  return Number(/^nv_inference_pending_request_count\{.*\} (\d+)$/m.exec(text)?.[1]);
}
