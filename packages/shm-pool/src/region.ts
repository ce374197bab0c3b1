/**
 * One registered region. The only file that knows the order: allocate → register → unregister → free, and what has to
 * be seen before memory may be freed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeviceMemory } from '@zerohop/cuda-native';
import type { RegionClient } from './client.js';
import { messageOf } from './errors.js';
import type { RegionMemory } from './memory/region-memory.js';
import { regionName } from './names.js';
import {
  countsRegionUsers,
  isInUse,
  isRegisteredAlready,
  isTimeout,
  isUnreachable,
  registrationError,
} from './server-texts.js';
import { throwIfAborted, within } from './settle.js';
import { warn } from './warnings.js';

/** Whether the server is proven to be done with a region; if not, why. */
export type Proof = { readonly proven: true } | { readonly proven: false; readonly reason: string };

/** How a release went. `freed` without `proven`: the memory is gone here, but the server may keep its registration. */
export type Release = Proof & { readonly freed: boolean };

const PROVEN = { proven: true } as const;
const unproven = (reason: string) => ({ proven: false, reason }) as const;

/** Back-off between polls, in milliseconds: from 1, doubling, to 50. */
const nextDelay = (delayMs: number) => Math.min(delayMs * 2, 50);

/** How long a region that was never used may take to be released, in milliseconds. */
const DISCARD_MS = 2000;

/** Polls between two unregisters of a name that stays listed: a server may lose a deferred one. */
const POLLS_PER_UNREGISTER = 20;

/** Regions whose memory can't be proven free: referenced for ever, so that it is never freed while the process lives. */
const retired = new Set<RegionMemory>();

/** Counts of the calls that a pool promises not to make in steady state. */
export interface RegionCounters {
  registerCalls: number;
  reregistrations: number;
}

export class SharedRegion {
  readonly #client: RegionClient;
  readonly #memory: RegionMemory;
  readonly #entry: string;
  readonly #counters: RegionCounters;
  #registration = 0;
  /** `'uncertain'`: a register was sent, and whether the server carried it out, or still will, is not known. */
  #state: 'unregistered' | 'uncertain' | 'registered' = 'unregistered';

  private constructor(client: RegionClient, memory: RegionMemory, entry: string, counters: RegionCounters) {
    this.#client = client;
    this.#memory = memory;
    this.#entry = entry;
    this.#counters = counters;
  }

  /**
   * Registers fresh memory and checks that the server lists it. When either fails or `signal` is aborted, the memory is
   * freed and nothing stays behind. Owns `memory` from here on.
   * @throws PoolError ERR_SHM_…, or the client's error when the server cannot be reached; `signal.reason`
   */
  static async open(
    client: RegionClient,
    memory: RegionMemory,
    entry: string,
    counters: RegionCounters,
    signal?: AbortSignal,
  ): Promise<SharedRegion> {
    const region = new SharedRegion(client, memory, entry, counters);
    try {
      throwIfAborted(signal);
      await within(region.#register(), { signal });
      if (!(await within(region.isListed(), { signal }))) {
        throw registrationError(
          memory.kind,
          new Error(`${region.name} was registered, but the server does not list it`),
        );
      }
      return region;
    } catch (error) {
      await region.discard();
      throw error;
    }
  }

  get kind(): 'cuda' | 'system' {
    return this.#memory.kind;
  }

  /** The name of the current registration. */
  get name(): string {
    return regionName(this.#entry, this.#registration);
  }

  get key(): string {
    return this.#memory.key;
  }

  get byteLength(): number {
    return this.#memory.byteLength;
  }

  /** A part of the memory; borrowed, valid until the region is released. */
  view(byteOffset: number, byteLength: number): Uint8Array | DeviceMemory {
    return this.#memory.view(byteOffset, byteLength);
  }

  async #register(): Promise<void> {
    this.#counters.registerCalls += 1;
    const before = this.#state;
    this.#state = 'uncertain';
    try {
      await this.#memory.register(this.#client, this.name);
    } catch (error) {
      // An earlier register that got no answer may have been carried out since.
      const nowKnown = before === 'uncertain' && isRegisteredAlready(error);
      if (!nowKnown) {
        if (!isUnreachable(error)) this.#state = before;
        throw registrationError(this.kind, error);
      }
    }
    this.#state = 'registered';
  }

  /** Whether the server lists the current name. */
  isListed(): Promise<boolean> {
    return this.#memory.isListed(this.#client, this.name);
  }

  /**
   * Registers the same memory anew. Only for a region without an unanswered request. Resolves with false, and does
   * nothing, when the server lists the current name: Triton mishandles a second name of one system key.
   */
  async reregister(): Promise<boolean> {
    const listed = await this.isListed();
    if (listed && this.#state === 'registered') return false;
    if (listed) {
      this.#state = 'registered';
      return true;
    }
    if (this.#state !== 'uncertain') {
      this.#registration += 1;
      this.#state = 'unregistered';
    }
    // Else no request carries the name yet. Under another one, a late registration would be the second of its key.
    this.#counters.reregistrations += 1;
    await this.#register();
    return true;
  }

  /**
   * The second proof, for a region whose request was lost: on one connection, status lists the name, then unregister
   * is accepted and status lists it no more. Waits for as long as the server uses the region. An older server, or one
   * that does not list the name (a restart, a takeover of the port, someone's unregister-all), proves nothing.
   */
  async proveReleased(signal: AbortSignal): Promise<Proof> {
    let delayMs = 1;
    while (!signal.aborted) {
      const epoch = this.#client.connectionEpoch;
      try {
        const { version } = await within(this.#client.serverMetadata(), { signal });
        if (!countsRegionUsers(version))
          return unproven(`a server of version '${version}' does not count a region's users`);
        const listed = await within(this.isListed(), { signal });
        if (this.#client.connectionEpoch === epoch) {
          if (!listed) return unproven('the server that answers now does not know the region');
          await this.#unregister(signal);
          if (this.#client.connectionEpoch === epoch) {
            this.#state = 'unregistered';
            return PROVEN;
          }
        }
      } catch (error) {
        if (signal.aborted) break;
        if (!isUnreachable(error)) return unproven(`the server refused to unregister it: ${messageOf(error)}`);
      }
      delayMs = await pause(delayMs, signal);
    }
    return unproven('the time to wait for the server was over');
  }

  /**
   * Unregisters, waits until the server no longer lists the name, then frees the memory. Only for a region without an
   * unanswered request. Without that proof the memory is retired, and the reason returned.
   */
  async release(signal: AbortSignal): Promise<Release> {
    try {
      if (this.#state === 'uncertain') await this.#settleRegistration(signal);
      if (this.#state === 'registered') await this.#unregister(signal);
      this.#state = 'unregistered';
    } catch (error) {
      const gone = isUnreachable(error) && !isTimeout(error);
      const freed = gone && this.kind === 'system';
      // No request is unanswered, so nobody writes to a shm object any more, and a server that still maps it has a
      // mapping of its own. Device memory must outlive the server's mapping.
      if (freed) await this.free();
      else this.retire();
      const late = signal.aborted ? 'the time to wait for the server was over' : messageOf(error);
      return { ...unproven(gone ? 'the server cannot be reached' : late), freed };
    }
    const outcome = await this.free();
    return { ...outcome, freed: outcome.proven };
  }

  /** Releases a region that no request has used, and warns when its memory could not be freed. */
  async discard(): Promise<void> {
    const release = await this.release(AbortSignal.timeout(DISCARD_MS));
    if (release.freed || release.proven) return;
    warn(
      'ZEROHOP_RETIRED',
      `${this.byteLength} bytes of region ${this.name} were given up until the process ends: ${release.reason}`,
    );
  }

  /** Frees memory that the server is proven to be done with. When that fails, as after a device error, it is retired. */
  async free(): Promise<Proof> {
    try {
      await this.#memory.free();
      return PROVEN;
    } catch (error) {
      this.retire();
      return unproven(`it could not be freed: ${messageOf(error)}`);
    }
  }

  /** Gives the memory up without freeing it: the server, or the device, may still use it. */
  retire(): void {
    retired.add(this.#memory);
  }

  /** Finds out whether a register without an answer so far was carried out, and that it will not be later. */
  async #settleRegistration(signal: AbortSignal): Promise<void> {
    let withdrawn = false;
    await poll(signal, async () => {
      // The answer may come meanwhile.
      if (this.#state !== 'uncertain') return true;
      if (await within(this.isListed(), { signal })) {
        this.#state = 'registered';
        return true;
      }
      if (withdrawn) return true;
      withdrawn = this.#memory.withdraw();
      // That listing may be from before.
      return false;
    });
  }

  /** Until accepted ("in use" up to 2.52) and until status no longer lists the name (deferred from 2.53 on). */
  async #unregister(signal: AbortSignal): Promise<void> {
    let polls = 0;
    await poll(signal, async () => {
      const turn = polls;
      // Asked again at once after one that was refused, or got no answer.
      polls = 0;
      if (turn % POLLS_PER_UNREGISTER === 0) {
        await within(this.#memory.unregister(this.#client, this.name), { signal });
      }
      const listed = await within(this.isListed(), { signal });
      polls = turn + 1;
      return !listed;
    });
  }
}

/** Asks until it is so, also after calls that met a request in flight or had no answer in time. */
async function poll(signal: AbortSignal, isSo: () => Promise<boolean>): Promise<void> {
  let delayMs = 1;
  for (;;) {
    try {
      if (await isSo()) return;
    } catch (error) {
      if (!isInUse(error) && !isTimeout(error)) throw error;
    }
    delayMs = await pause(delayMs, signal);
    signal.throwIfAborted();
  }
}

async function pause(delayMs: number, signal: AbortSignal): Promise<number> {
  // An abort ends the pause early; the caller looks at the signal.
  await sleep(delayMs, undefined, { signal }).catch(() => undefined);
  return nextDelay(delayMs);
}
