import { expect } from 'vitest';
import { codeOfStatus } from '../../src/errors.js';
import type { CudaRegions, SystemRegions } from '../../src/index.js';
import type { Context } from './context.js';

/** Memory of one kind that a case makes, fills and registers. */
export interface QaMemory {
  readonly name: string;
  register(): Promise<void>;
  write(values: Int32Array | Float32Array): Promise<void>;
  int32(): Promise<number[]>;
}

/** System shared memory, or CUDA's. */
export interface QaKind {
  readonly regions: SystemRegions | CudaRegions;
  /** Freed when the test is over, registered or not. */
  allocate(byteLength: number): Promise<QaMemory>;
}

export interface QaCase {
  readonly number: number;
  readonly what: string;
  readonly run: (context: Context, kind: QaKind) => Promise<void>;
}

const BYTES = 64;
const INT32 = { datatype: 'INT32', shape: [1, 16] } as const;

/** Two inputs and two outputs of `add_sub`, each in a region of its own. */
async function four({ allocate }: QaKind) {
  const memories = [
    await allocate(BYTES),
    await allocate(BYTES),
    await allocate(BYTES),
    await allocate(BYTES),
  ] as const;
  const [input0, input1, output0, output1] = memories;
  await input0.write(Int32Array.from({ length: 16 }, (_, index) => index));
  await input1.write(new Int32Array(16).fill(1));
  for (const memory of memories) await memory.register();
  const ref = ({ name }: QaMemory) => ({ region: name, byteOffset: 0, byteLength: BYTES });
  const request = {
    inputs: { INPUT0: { ...INT32, ...ref(input0) }, INPUT1: { ...INT32, ...ref(input1) } },
    outputs: { OUTPUT0: ref(output0), OUTPUT1: ref(output1) },
  };
  return { memories, request };
}

/**
 * What NVIDIA's own acceptance tests of shared memory ask of a client and a server, as facts, by the numbers of our
 * list. Case 1, a server that has shared memory switched off, is of a kind that no wheel has: see `QA_ELSEWHERE`.
 */
export const QA_CASES: readonly QaCase[] = [
  {
    number: 2,
    what: 'a region of size -1 cannot be made',
    async run(_, { allocate }) {
      await expect(allocate(-1)).rejects.toBeInstanceOf(RangeError);
    },
  },
  {
    number: 3,
    what: '8 bytes, two FP32 written, registered: one in the status',
    async run(_, { allocate, regions }) {
      const memory = await allocate(8);
      await memory.write(Float32Array.of(1, 2));
      await memory.register();
      expect(await regions.status()).toMatchObject([{ name: memory.name, byteLength: 8 }]);
    },
  },
  {
    number: 4,
    what: 'a name never registered is unregistered: no error',
    async run(_, { regions }) {
      await regions.unregister('dummy_data');
      expect(await regions.status()).toEqual([]);
    },
  },
  {
    number: 5,
    what: 'the same name twice',
    async run(context, { allocate, regions }) {
      const memory = await allocate(8);
      await memory.register();
      await context.refusal(memory.register(), {
        code: 'TRITON_ALREADY_EXISTS',
        region: memory.name,
        details: `shared memory region '${memory.name}' already in manager`,
      });
      expect(await regions.status()).toHaveLength(1);
    },
  },
  {
    number: 6,
    what: 'two inputs and two outputs in regions; one is unregistered: three are left',
    async run({ client }, kind) {
      const { memories, request } = await four(kind);
      await client.infer('add_sub', request);
      expect(await memories[2].int32()).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
      expect(await memories[3].int32()).toEqual(Array.from({ length: 16 }, (_, index) => index - 1));
      await kind.regions.unregister(memories[3].name);
      expect(await kind.regions.status()).toHaveLength(3);
    },
  },
  {
    number: 7,
    what: 'an input of 128 bytes where 64 are needed',
    async run(context, kind) {
      const { request } = await four(kind);
      const large = await kind.allocate(2 * BYTES);
      await large.register();
      const INPUT1 = { ...request.inputs.INPUT1, region: large.name, byteLength: 2 * BYTES };
      await context.refusedByClient(
        () => context.client.infer('add_sub', { ...request, inputs: { ...request.inputs, INPUT1 } }),
        RangeError,
        "64 bytes (INT32 [1, 16]) for the size of input 'INPUT1'",
      );
      const said = await context.raw.infer({
        modelName: 'add_sub',
        inputs: [request.inputs.INPUT0, INPUT1].map(({ region, byteLength }, index) => ({
          name: `INPUT${index}`,
          datatype: 'INT32',
          shape: [1n, 16n],
          contents: undefined,
          parameters: {
            shared_memory_region: { parameterChoice: { $case: 'stringParam', value: region } },
            shared_memory_byte_size: { parameterChoice: { $case: 'int64Param', value: BigInt(byteLength) } },
          },
        })),
      });
      const details = "input byte size mismatch for input 'INPUT1' for model 'add_sub'. Expected 64, got 128";
      expect(said).toMatchObject({ details: expect.stringContaining(details) });
      expect(codeOfStatus(said.code, details)).toBe('TRITON_INVALID_ARGUMENT');
    },
  },
  {
    number: 8,
    what: 'four regions, all unregistered: none is left',
    async run(_, kind) {
      await four(kind);
      expect(await kind.regions.status()).toHaveLength(4);
      await kind.regions.unregisterAll();
      expect(await kind.regions.status()).toEqual([]);
    },
  },
  {
    number: 9,
    what: 'an output at offset 64 of a region of 64 bytes',
    async run(context, kind) {
      const { memories, request } = await four(kind);
      const OUTPUT0 = { ...request.outputs.OUTPUT0, byteOffset: BYTES };
      await context.refusedRequest(
        'add_sub',
        { ...request, outputs: { ...request.outputs, OUTPUT0 } },
        {
          code: 'TRITON_INVALID_ARGUMENT',
          region: memories[2].name,
          details: `Invalid offset for shared memory region: '${memories[2].name}'`,
        },
      );
    },
  },
  {
    number: 10,
    what: 'an output whose offset and size end beyond the region',
    async run(context, kind) {
      const { memories, request } = await four(kind);
      for (const byteOffset of [60, 1]) {
        const OUTPUT0 = { ...request.outputs.OUTPUT0, byteOffset };
        await context.refusedRequest(
          'add_sub',
          { ...request, outputs: { ...request.outputs, OUTPUT0 } },
          {
            code: 'TRITON_INVALID_ARGUMENT',
            region: memories[2].name,
            details: `Invalid offset + byte size for shared memory region: '${memories[2].name}'`,
          },
        );
      }
    },
  },
  {
    number: 11,
    what: 'regions stay after an inference, until all are unregistered',
    async run({ client }, kind) {
      const { request } = await four(kind);
      await client.infer('add_sub', request);
      expect(await kind.regions.status()).toHaveLength(4);
      await kind.regions.unregisterAll();
      expect(await kind.regions.status()).toEqual([]);
    },
  },
];

/** The cases that are shown elsewhere. */
export const QA_ELSEWHERE = [
  {
    number: 1,
    what: 'a server whose shared memory is switched off',
    where: 'as the devserver’s 2.68: no wheel has such a server',
  },
] as const;
