import { setTimeout as sleep } from 'node:timers/promises';
import { TritonError } from './errors.js';
import type { ReleaseOutcome } from './types/regions.js';

/** The calls about one region, each within the time that is left. */
export interface ReleaseCalls {
  serverVersion(): Promise<string>;
  isListed(): Promise<boolean>;
  unregister(): Promise<void>;
  epoch(): number;
}

const METHOD = 'waitUntilReleased';
const FIRST_DELAY_MS = 1;
const LONGEST_DELAY_MS = 50;
/** Servers have been seen to lose the mark that a region is to go; another unregister sets it again. */
const LOOKS_PER_UNREGISTER = 8;

/**
 * Unregisters a region and waits until no request uses it. 2.50 to 2.52 refuse while one does; from 2.53 on they accept
 * and let go later, and the status lists the region until then.
 *
 * @throws TritonError `TRITON_UNSAFE_REQUEST` for a server before 2.50, or of unknown version; the signal's reason
 */
export async function waitUntilReleased(
  calls: ReleaseCalls,
  name: string,
  signal: AbortSignal,
): Promise<ReleaseOutcome> {
  const version = await calls.serverVersion();
  const defers = defersUnregister(version);
  if (defers === undefined) throw notCounted(name, version);
  let epoch = calls.epoch();
  let listed = await calls.isListed();
  if (calls.epoch() !== epoch) {
    // That may have been what connected. Which server said it is known when nothing changes meanwhile.
    epoch = calls.epoch();
    listed = await calls.isListed();
  }
  let delayMs = FIRST_DELAY_MS;
  // On another connection another server may answer.
  for (let turn = 0; listed && calls.epoch() === epoch; turn += 1) {
    if ((await isGone(calls, turn, defers)) && calls.epoch() === epoch) return 'released';
    await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS);
  }
  return 'unknown';
}

function notCounted(name: string, version: string): TritonError {
  const details = `Triton ${version || 'of unknown version'} does not count the requests that use a region`;
  return new TritonError(`${details}: unregistering one in use ends or corrupts servers before 2.50`, {
    code: 'TRITON_UNSAFE_REQUEST',
    method: METHOD,
    details,
    region: name,
  });
}

async function isGone(calls: ReleaseCalls, turn: number, defers: boolean): Promise<boolean> {
  if (!defers || turn % LOOKS_PER_UNREGISTER === 0) {
    try {
      await calls.unregister();
    } catch (error) {
      if (error instanceof TritonError && error.details.includes('currently in use')) return false;
      throw error;
    }
  }
  return !(await calls.isListed());
}

/** Undefined for servers that neither refuse nor defer. */
function defersUnregister(version: string): boolean | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)(?:\.|$)/.exec(version) ?? [];
  if (major === undefined) return undefined;
  const number = Number(major) * 1000 + Number(minor);
  return number < 2050 ? undefined : number >= 2053;
}
