/** What says to another thread where a block's bytes are. */
import type { BlockHandle, Datatype, TensorBlock } from '@zerohop/cuda-native/tensor';
import { isDatatype } from './datatypes.js';
import { outOfRange, PoolError, wrongType } from './errors.js';

/** @throws PoolError ERR_BLOCK_LOCAL for memory that no other thread can see */
export function handleOf<D extends Datatype>(block: TensorBlock<D>): BlockHandle<D> {
  const { name, datatype, shape, byteLength, memory, shm } = block;
  const tensor = { name, datatype, shape: [...shape], byteLength };
  if (!(memory instanceof Uint8Array)) {
    const { device, address } = memory;
    return { ...tensor, kind: 'cuda', deviceUuid: device.uuid, address, processId: process.pid };
  }
  if (shm !== undefined) return { ...tensor, kind: 'host', key: shm.key, byteOffset: shm.byteOffset };
  throw new PoolError(
    'ERR_BLOCK_LOCAL',
    `The block '${name}' lies in memory of this thread alone: post a copy of its bytes, or open the pool with transport 'system', whose blocks every thread can open`,
  );
}

/**
 * Checks a handle that came from another thread.
 * @throws TypeError, RangeError; PoolError ERR_BLOCK_LOCAL for an address of another process
 */
export function checkHandle(handle: unknown): asserts handle is BlockHandle {
  if (typeof handle !== 'object' || handle === null) throw wrongType('handle', 'handle of a block', handle);
  const { name, datatype, shape, byteLength, ...place } = handle as Record<string, unknown>;
  if (typeof name !== 'string') throw wrongType('handle.name', 'string', name);
  if (!isDatatype(datatype)) throw outOfRange('handle.datatype', "one of Triton's datatypes", datatype);
  checkCount('byteLength', byteLength, 1);
  if (!Array.isArray(shape)) throw wrongType('handle.shape', 'array of integers', shape);
  for (const dimension of shape) checkCount('shape', dimension, 0);
  if (place.kind === 'host') {
    if (typeof place.key !== 'string') throw wrongType('handle.key', 'string', place.key);
    checkCount('byteOffset', place.byteOffset, 0);
    return;
  }
  if (place.kind !== 'cuda') throw outOfRange('handle.kind', "'host' or 'cuda'", place.kind);
  if (typeof place.deviceUuid !== 'string') throw wrongType('handle.deviceUuid', 'string', place.deviceUuid);
  if (typeof place.address !== 'bigint') throw wrongType('handle.address', 'bigint', place.address);
  if (place.processId === process.pid) return;
  throw new PoolError(
    'ERR_BLOCK_LOCAL',
    `The block '${name}' is at a device address of process ${String(place.processId)}, which means nothing in this one: open it in a worker thread of that process, or hand the allocation's IPC handle over instead`,
  );
}

function checkCount(name: string, value: unknown, minimum: 0 | 1): void {
  const expected = minimum === 1 ? 'positive integer' : 'non-negative integer';
  if (typeof value !== 'number') throw wrongType(`handle.${name}`, expected, value);
  if (!Number.isSafeInteger(value) || value < minimum) throw outOfRange(`handle.${name}`, expected, value);
}
