import type { Datatype, MemoryKind, TensorBlock, TensorSpec, TypedArrays } from '@zerohop/cuda-native/tensor';

/** A tensor spec and blocks of it in plain host memory, as a pool would lend them. */
export const spec = (shape: readonly number[], datatype: Datatype = 'FP32', kind: MemoryKind = 'host'): TensorSpec => ({
  name: 'images',
  datatype,
  shape,
  kind,
});

export interface TestBlock extends TensorBlock {
  readonly memory: Uint8Array;
  /** What `hold` was called with. */
  readonly held: Promise<unknown>[];
  /** What `write` was called with. */
  readonly writes: { data: Uint8Array; options: object }[];
}

/** Stands for memory that the host can't reach. */
const deviceMemory = Object.freeze({});

/** `kind: 'cuda'`: the memory can only be reached by `write`. */
export function makeBlock(of: TensorSpec): TestBlock {
  const elementBytes = { FP16: 2, UINT8: 1, INT8: 1 }[of.datatype as string] ?? 4;
  const byteLength = of.shape.reduce((product, size) => product * size, elementBytes);
  const memory = new Uint8Array(byteLength).fill(0xa5);
  const held: Promise<unknown>[] = [];
  const writes: { data: Uint8Array; options: object }[] = [];
  return {
    ...of,
    byteLength,
    held,
    writes,
    memory: of.kind === 'host' ? memory : (deviceMemory as unknown as Uint8Array),
    hold: (work) => {
      work.catch(() => undefined);
      held.push(work);
    },
    write: async (data, options = {}) => {
      await new Promise((resolve) => setImmediate(resolve));
      writes.push({ data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice(), options });
    },
    read: (): Promise<TypedArrays[Datatype]> => Promise.reject(new Error('not read by a preprocessor')),
  };
}

/** The elements of an FP32 block. */
export const floats = (block: TestBlock): Float32Array =>
  new Float32Array(block.memory.buffer, block.memory.byteOffset, block.byteLength / 4);
