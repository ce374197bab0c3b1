import { SharedMemory } from '@zerohop/cuda-native';
import { TensorPool } from '@zerohop/shm-pool';
import { region, TritonClient, tensor } from '@zerohop/triton-client';
import { describe, expect, test } from 'vitest';
import type { Transport } from '../../src/tables.js';
import { WINDOWS, windowRange } from '../../src/windows.js';

export interface BackendSuiteOptions {
  /** The running server's address, known once the tests run. */
  grpcUrl(): string;
  readonly transports: readonly Transport[];
}

/** Whole numbers below 251, from a linear congruential generator: every sum of a window is exact in FP32. */
function randomTensor(length: number, seed: number): Float32Array {
  const values = new Float32Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = (state >>> 8) % 251;
  }
  return values;
}

/** By the definition, in double precision. */
function reduce(input: Float32Array): Float32Array {
  const output = new Float32Array(WINDOWS);
  for (let k = 0; k < WINDOWS; k++) {
    const { begin, end } = windowRange(k, input.length);
    let sum = 0;
    for (const value of input.subarray(begin, end)) sum += value;
    output[k] = sum;
  }
  return output;
}

const MODELS = [
  { model: 'identity_small', expected: (input: Float32Array) => input },
  { model: 'py_identity_small', expected: (input: Float32Array) => input },
  { model: 'reduce_small', expected: reduce },
  { model: 'reduce_64', expected: reduce },
  { model: 'reduce_4k', expected: reduce },
  { model: 'py_reduce_4k', expected: reduce },
] as const;

export const SUITE_MODELS: readonly string[] = MODELS.map(({ model }) => model);

/** The benchmark's models give exact answers, whatever carries the tensors. */
export function backendSuite({ grpcUrl, transports }: BackendSuiteOptions): void {
  async function withClient<T>(use: (client: TritonClient) => Promise<T>): Promise<T> {
    const client = new TritonClient(grpcUrl());
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  }

  describe.each(transports)('by %s', (transport) => {
    test.each(MODELS)('$model answers exactly', ({ model, expected }) =>
      withClient(async (client) => {
        const serverDevice = transport === 'cuda' ? { serverDeviceId: 0 } : {};
        const pool = await TensorPool.open(client, { model, slots: 1, transport, ...serverDevice });
        try {
          const length = pool.input('INPUT0').shape.reduce((product, dimension) => product * dimension, 1);
          // Twice: the second answer must not be what the first left behind.
          for (const seed of [1, 2]) {
            const input = randomTensor(length, seed);
            await pool.run(async (lease) => {
              await lease.input('INPUT0').write(input);
              const reply = await lease.infer();
              const output = await reply.output<'FP32'>('OUTPUT0').read();
              expect(Buffer.compare(bytesOf(output), bytesOf(expected(input)))).toBe(0);
            });
          }
        } finally {
          await pool.close();
        }
      }),
    );
  });

  test('many requests at a time each get their own answer', () =>
    withClient(async (client) => {
      const inputs = Array.from({ length: 64 }, (_, i) => randomTensor(64, i));
      const results = await Promise.all(
        inputs.map((input) => client.infer('reduce_small', { inputs: { INPUT0: tensor('FP32', [64], input) } })),
      );
      for (const [i, result] of results.entries()) {
        const output = result.output('OUTPUT0').data;
        expect(Array.from(output as Float32Array)).toEqual(Array.from(reduce(inputs[i] ?? new Float32Array())));
      }
    }));

  test('an output block that is too small is an error of that request, and the next one is served', () =>
    withClient(async (client) => {
      const name = `bench-test-${process.pid}-${Date.now()}`;
      const memory = await SharedMemory.create(`/${name}`, 4096);
      await client.systemSharedMemory.register({ name, key: memory.key, byteLength: 4096 });
      try {
        const inputs = { INPUT0: tensor('FP32', [64], new Float32Array(64)) };
        const outputs = { OUTPUT0: { region: name, byteOffset: 0, byteLength: 4096 } };
        await expect(client.infer('reduce_small', { inputs, outputs })).rejects.toThrow('at least 24000 bytes');
        await expect(client.infer('reduce_small', { inputs })).resolves.toBeDefined();
        // The region is free again: it serves as an input.
        const input = region(name, { datatype: 'FP32', shape: [64], byteOffset: 0, byteLength: 256 });
        await expect(client.infer('reduce_small', { inputs: { INPUT0: input } })).resolves.toBeDefined();
      } finally {
        await client.systemSharedMemory.unregister(name);
        memory.unlink();
        memory.close();
      }
    }));

  test('the server counts what the backend reports', () =>
    withClient(async (client) => {
      const before = await client.modelStatistics('identity_small');
      await client.infer('identity_small', { inputs: { INPUT0: tensor('FP32', [16], new Float32Array(16)) } });
      const after = await client.modelStatistics('identity_small');
      expect(Number(after[0]?.inferenceCount) - Number(before[0]?.inferenceCount)).toBe(1);
    }));
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
