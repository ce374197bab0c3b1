import type { SharedMemory } from '@zerohop/cuda-native';
import type { Destination } from './messages.js';

type RegionPart = Extract<Destination, { key: string }>;

/**
 * How long a mapping is kept that nothing is written to, in ms. A slot is written many times a second, and a new mapping
 * costs a page fault for every 4 KiB; but the pages of a region that was closed elsewhere live on as long as a mapping does.
 */
const KEPT_MS = 2000;

interface Mapping {
  readonly memory: SharedMemory;
  used: number;
}

const mappings = new Map<string, Mapping>();
let sweeper: NodeJS.Timeout | undefined;

function sweep(): void {
  for (const [id, { memory, used }] of mappings) {
    if (performance.now() - used < KEPT_MS) continue;
    mappings.delete(id);
    memory.close();
  }
  if (mappings.size > 0) return;
  clearInterval(sweeper);
  sweeper = undefined;
}

/**
 * The bytes of a tensor in POSIX shared memory, mapped into this thread; to be used before anything else is awaited. Loads
 * the native code the first time.
 * @throws Error when the region of that name is not the one the token was written to
 * @throws SharedMemoryError, NativeUnavailableError
 */
export async function openTensor(part: RegionPart): Promise<Uint8Array> {
  const { key, byteOffset, byteLength } = part;
  const id = `${byteOffset}:${byteLength}:${key}`;
  const known = keptTensor(id, part);
  if (known !== undefined) return known;
  const native = await import('@zerohop/cuda-native');
  const memory = await native.SharedMemory.open(key, { byteOffset, byteLength });
  // Another job may have mapped it meanwhile.
  mappings.get(id)?.memory.close();
  mappings.set(id, { memory, used: performance.now() });
  sweeper ??= setInterval(sweep, KEPT_MS);
  const bytes = keptTensor(id, part);
  if (bytes === undefined) throw new Error(`The shared memory ${key} is not the block's`);
  return bytes;
}

/** The tensor in a mapping that is kept; one that shows other memory is closed. */
function keptTensor(id: string, { start, token }: RegionPart): Uint8Array | undefined {
  const mapping = mappings.get(id);
  if (mapping === undefined) return undefined;
  const bytes = new Uint8Array(mapping.memory.buffer, start);
  if (token.every((byte, i) => bytes[i] === byte)) {
    mapping.used = performance.now();
    return bytes;
  }
  mappings.delete(id);
  mapping.memory.close();
  return undefined;
}
