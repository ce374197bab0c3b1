/** The end of slots' memory where no pool sees to it. */
import type { ClientCall } from './client.js';
import { limited, settlementNow, settlementOf, within } from './settle.js';
import type { SlotMemory } from './slot-memory.js';

/** How long the server may take to be proven to be done, in milliseconds. */
const PROOF_MS = 30_000;

/** Releases a slot's memory that no request has used. */
export async function discard(memory: SlotMemory): Promise<void> {
  await memory.region?.discard();
  await closeStream(memory);
}

/**
 * Gives back a slot's stream, also after `signal` when its work goes on. One that the driver refuses to close is lost with
 * its device; there is nothing left to do about it.
 */
export async function closeStream({ stream }: Pick<SlotMemory, 'stream'>, signal?: AbortSignal): Promise<void> {
  if (stream === undefined) return;
  await within(stream.close(), { signal }).catch(() => undefined);
}

/**
 * Releases memory that one request may have used, when the server is proven to be done with it: at once after an answer;
 * else in the background, after the late answer or by the second proof. Without a proof it is retired.
 */
export async function releaseAfter(memory: SlotMemory, call: ClientCall | undefined): Promise<void> {
  const settlement = call === undefined ? 'not-sent' : await settlementNow(call);
  if (call === undefined || settlement === 'answered' || settlement === 'not-sent') {
    await discard(memory);
    return;
  }
  void settlementOf(call).then((end) => (end === 'lost' ? prove(memory) : discard(memory)));
}

/** The second proof, and the release by it. */
async function prove(memory: SlotMemory): Promise<void> {
  const { region } = memory;
  if (region === undefined) return;
  const release = await region.releaseUnanswered(limited(PROOF_MS, undefined));
  if (!release.proven) region.warnOfLoss(release.reason);
  await closeStream(memory);
}
