import type { Datatype, MemoryKind, TensorBlock, TensorSpec } from '@zerohop/cuda-native/tensor';

export const spec = (shape: readonly number[], datatype: Datatype = 'FP32', kind: MemoryKind = 'host'): TensorSpec => ({
  name: 'output0',
  datatype,
  shape,
  kind,
});

export interface TestBlock extends TensorBlock {
  /** What `hold` was called with. */
  readonly held: Promise<unknown>[];
  /** The arrays `read` was given. */
  readonly reads: Float32Array[];
}

/** A block over `data`, as a pool would lend it. `kind: 'cuda'`: reachable by `read` alone, as on a device. */
export function blockOf(data: Float32Array, of: TensorSpec): TestBlock {
  const held: Promise<unknown>[] = [];
  const reads: Float32Array[] = [];
  const block = {
    ...of,
    byteLength: data.byteLength,
    held,
    reads,
    memory: of.kind === 'host' ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : Object.freeze({}),
    hold: (work: Promise<unknown>): void => {
      work.catch(() => undefined);
      held.push(work);
    },
    write: (): Promise<void> => Promise.reject(new Error('not written by a detector')),
    read: async (dst?: Float32Array): Promise<Float32Array> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (dst === undefined) throw new Error('expected a buffer to read into');
      if (dst.length !== data.length) throw new Error(`expected ${data.length} elements, got ${dst.length}`);
      reads.push(dst);
      dst.set(data);
      return dst;
    },
  };
  return block as unknown as TestBlock;
}
