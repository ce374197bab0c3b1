/** Chooses how tensors travel, by evidence: the first transport for which a region of ours is registered and listed. */
import { messageOf } from './errors.js';
import { discard } from './memory-release.js';
import { isUnreachable, sharedMemoryRefused } from './server-texts.js';
import { throwIfAborted, within } from './settle.js';
import type { SlotMemory, SlotMemoryFactory, Transport } from './slot-memory.js';
import { openBytes } from './transport/bytes.js';
import { openCuda } from './transport/cuda.js';
import type { OpenTransport, TransportOptions } from './transport/options.js';
import { openSystem } from './transport/system.js';
import { type Verification, verifyTransport } from './verify.js';

export interface ChoiceOptions extends Omit<TransportOptions, 'auto'> {
  readonly version: string | undefined;
  /** Whether an answer by the transport is compared with one by messages before it is taken. */
  readonly verify: boolean;
}

export interface Chosen {
  readonly factory: SlotMemoryFactory;
  /** One for each slot. */
  readonly memories: readonly SlotMemory[];
  /** One sentence: which transport, on what evidence, and why not the faster ones. */
  readonly reason: string;
  /** `'auto'` had to move on. */
  readonly fellBack: boolean;
  readonly verification: Verification;
}

export const AUTO: readonly Transport[] = ['cuda', 'system', 'bytes'];

const openers: Record<Transport, OpenTransport> = { cuda: openCuda, system: openSystem, bytes: openBytes };

/** A transport that was tried in vain, and why. */
export interface Failed {
  readonly transport: Transport;
  readonly why: string;
}

/**
 * Makes the memory of all slots. Only `'auto'` moves on to the next transport, and only for reasons that concern the
 * transport; a server that cannot be reached is an error either way.
 */
export async function openTransport(wanted: Transport | 'auto', options: ChoiceOptions): Promise<Chosen> {
  const auto = wanted === 'auto';
  const order = auto ? AUTO : [wanted];
  const { opened, failed } = await firstThatOpens(order, options.signal, async (transport) => {
    const factory = await openFactory(transport, { ...options, auto });
    const memories = await createAll(factory, options.slots, options.signal);
    return { factory, memories, verification: await verified(factory, memories, options) };
  });
  const reason = reasonOf(opened.factory, opened.verification, failed);
  return { ...opened, reason, fellBack: failed.length > 0 };
}

/** Tries in this order, and throws what does not concern the transport, and what the last one throws. */
export async function firstThatOpens<T>(
  order: readonly Transport[],
  signal: AbortSignal | undefined,
  open: (transport: Transport) => Promise<T>,
): Promise<{ readonly opened: T; readonly failed: readonly Failed[] }> {
  const failed: Failed[] = [];
  for (const transport of order) {
    try {
      return { opened: await open(transport), failed };
    } catch (error) {
      throwIfAborted(signal);
      if (transport === order.at(-1) || !concernsTransport(error)) throw error;
      failed.push({ transport, why: messageOf(error) });
    }
  }
  throw new Error('No transport was tried');
}

/** Finds out whether a transport can work, up to making memory. @throws PoolError with the reason against it */
export async function openFactory(transport: Transport, options: TransportOptions): Promise<SlotMemoryFactory> {
  const factory = await openers[transport](options);
  // What this process lacks is told first: it costs no call.
  if (transport !== 'bytes') await checkAllowed(options);
  return factory;
}

/**
 * Asks whether the server takes regions at all. A probe that fails otherwise says nothing: the registration will.
 * @throws PoolError ERR_SHM_DISABLED, ERR_SHM_RESTRICTED; the client's error when the server cannot be reached
 */
async function checkAllowed({ client, signal }: TransportOptions): Promise<void> {
  if (client.sharedMemoryState === undefined) return;
  let state: 'enabled' | 'disabled' | 'restricted';
  try {
    state = await within(client.sharedMemoryState(), { signal });
  } catch (error) {
    throwIfAborted(signal);
    if (isUnreachable(error)) throw error;
    return;
  }
  if (state === 'disabled' || state === 'restricted') throw sharedMemoryRefused(state);
}

const concernsTransport = (error: unknown) =>
  !isUnreachable(error) && !(error instanceof TypeError) && !(error instanceof RangeError);

/** The sentence of `pool.reason`. */
export function reasonOf(
  { transport, evidence }: Pick<SlotMemoryFactory, 'transport' | 'evidence'>,
  verification: Verification,
  failed: readonly Failed[],
): string {
  const parts = [`${transport}: ${evidence}`];
  if (verification.state === 'verified') parts.push(`an answer was verified (${verification.how})`);
  if (verification.state === 'nothing-to-compare') parts.push('not verified: there is no second way to compare with');
  if (verification.state === 'not-verified') parts.push(`not verified: ${verification.why}`);
  const causes = [...new Set(failed.map(({ why }) => why))];
  for (const cause of causes) {
    const names = failed.filter(({ why }) => why === cause).map((each) => each.transport);
    parts.push(`not ${names.join(' and not ')}: ${cause}`);
  }
  return parts.join('; ');
}

export async function createAll(
  factory: SlotMemoryFactory,
  slots: number,
  signal: AbortSignal | undefined,
): Promise<SlotMemory[]> {
  const memories: SlotMemory[] = [];
  try {
    // One after another: the first failure names the cause, and reserving pages in parallel gains nothing.
    for (let index = 0; index < slots; index += 1) memories.push(await factory.create(signal));
    throwIfAborted(signal);
    return memories;
  } catch (error) {
    await Promise.all(memories.map(discard));
    throw error;
  }
}

/** When it fails, the memories are released. */
export async function verified(
  { transport }: SlotMemoryFactory,
  memories: readonly SlotMemory[],
  options: ChoiceOptions,
): Promise<Verification> {
  const [first, ...others] = memories;
  if (!options.verify || first === undefined) return { state: 'not-asked' };
  if (transport === 'bytes') return { state: 'nothing-to-compare' };
  try {
    return await verifyTransport(transport, first, { ...options, plan: options.plan.current });
  } catch (error) {
    // The first one's memory was seen to: its request may be with the server still.
    await Promise.all(others.map(discard));
    throw error;
  }
}
