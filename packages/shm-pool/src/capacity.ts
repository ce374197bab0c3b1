/** Refuses what can never be held, before anything is allocated. */
import { constants } from 'node:buffer';
import { totalmem } from 'node:os';
import { PoolError } from './errors.js';
import type { TensorPlan } from './layout.js';

/** What a slot, or all slots, have to fit into. */
export interface Holder {
  readonly byteLength: number;
  /** For the message: "… holds <byteLength> bytes". */
  readonly name: string;
}

/** The largest buffer: 4 GiB on Node 20, beyond any memory on later ones. */
export const hostBuffer = (): Holder => ({
  byteLength: Math.min(constants.MAX_LENGTH, totalmem()),
  name: 'a buffer of this process',
});

export const hostMemory = (): Holder => ({ byteLength: totalmem(), name: 'the memory of this host' });

/** The size limit of Protocol Buffers, which every gRPC message of the protocol is encoded in. */
export const message: Holder = { byteLength: 2 ** 31 - 1, name: 'a message' };

/** Memory is given by the page, and whatever a slot holds, its bookkeeping is of that order too. */
const PAGE = 4096;

/** Bytes that `slots` slots take. */
export const slotsByteLength = (slots: number, byteLength: number): number =>
  slots * Math.ceil(byteLength / PAGE) * PAGE;

/** @throws PoolError ERR_TENSOR_SIZE when tensors that lie together in `byteLength` bytes do not fit the holder */
export function checkTensors(tensors: readonly TensorPlan[], byteLength: number, holder: Holder): void {
  if (byteLength <= holder.byteLength) return;
  const [largest] = [...tensors].sort((a, b) => b.byteLength - a.byteLength);
  if (largest === undefined) return;
  const { name, shape, byteLength: own } = largest;
  const together = own === byteLength ? '' : `, with the tensors beside it ${byteLength}`;
  throw new PoolError(
    'ERR_TENSOR_SIZE',
    `Tensor '${name}' with shape [${shape.join(', ')}] needs ${own} bytes${together}; ${holder.name} holds ${holder.byteLength}: give smaller shapes`,
  );
}

/** @throws PoolError ERR_TENSOR_SIZE when so many slots can never be held */
export function checkSlots(slots: number, byteLength: number, holder: Holder): void {
  const needed = slotsByteLength(slots, byteLength);
  if (needed <= holder.byteLength) return;
  throw new PoolError(
    'ERR_TENSOR_SIZE',
    `${slots} slots of ${byteLength} bytes need ${needed} bytes; ${holder.name} holds ${holder.byteLength}: open the pool with fewer slots`,
  );
}
