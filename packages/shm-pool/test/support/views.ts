/** Views of a lease's memory, as a caller may keep them. */
import type { DeviceMemory } from '@zerohop/cuda-native';
import type { TensorBlock } from '@zerohop/cuda-native/tensor';

export type View = Uint8Array | DeviceMemory;

export const isAlive = (view: View) => (view instanceof Uint8Array ? view.byteLength > 0 : !view.closed);

/** Views of every kind that a block gives. */
export function viewsOf({ memory }: Pick<TensorBlock, 'memory'>): View[] {
  const part = memory instanceof Uint8Array ? memory.subarray(16) : memory.slice(16, 16);
  return [memory, part, part instanceof Uint8Array ? new Uint8Array(part.buffer, 0, 8) : part.slice(0, 8)];
}
