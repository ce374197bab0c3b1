/**
 * One registered region. The only file that knows the order: allocate → register → unregister → free, and what has to
 * be seen before memory may be freed.
 */
import type { RegionClient } from './client.js';
import { messageOf } from './errors.js';
import type { RegionMemory } from './memory/region-memory.js';
import { regionName } from './names.js';
import { pause, poll } from './poll.js';
import type { RegionCounters } from './region-counters.js';
import {
  countsRegionUsers,
  isRegisteredAlready,
  isTimeout,
  isUnanswered,
  isUnreachable,
  notListed,
  registrationError,
} from './server-texts.js';
import { limited, throwIfAborted, within } from './settle.js';
import { warn } from './warnings.js';

/** Whether the server is proven to be done with a region; if not, why. */
export type Proof =
  | { readonly proven: true }
  | {
      readonly proven: false;
      readonly reason: string;
      /** The server that answers does not list the region. One that did, and still writes, has a mapping of its own. */
      readonly forgotten?: true;
    };

/** How a release went. `freed` without `proven`: the memory is gone here, but the server may keep its registration. */
export type Release = Proof & { readonly freed: boolean };

const PROVEN = { proven: true } as const;
const unproven = (reason: string) => ({ proven: false, reason }) as const;

/** How long a region that was never used may take to be released, in milliseconds. */
const DISCARD_MS = 2000;

/**
 * How long a release tries to reach a server that is away, as at a restart or a dropped connection, in milliseconds. A shm
 * object is freed then; device memory would be lost, so that all the time there is goes into it.
 */
const AWAY_MS = { system: 1000, cuda: Number.POSITIVE_INFINITY } as const;

/** Polls between two unregisters of a name that stays listed: a server may lose a deferred one. */
const POLLS_PER_UNREGISTER = 20;

/**
 * Memory that a server may have registered, from before the first register until it is proven free: referenced here, so
 * that it is not collected, and thereby freed, with a pool or region that nobody closed. What is retired stays for ever.
 */
const kept = new Set<RegionMemory>();

export class RegisteredRegion {
  readonly #client: RegionClient;
  readonly #memory: RegionMemory;
  readonly #entry: string;
  readonly #counters: RegionCounters;
  #registration = 0;
  /** `'uncertain'`: a register was sent, and whether the server carried it out, or still will, is not known. */
  #state: 'unregistered' | 'uncertain' | 'registered' = 'unregistered';
  /** The last register call, to the end that it has for this client. */
  #registering: Promise<void> | undefined;

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
  ): Promise<RegisteredRegion> {
    const region = new RegisteredRegion(client, memory, entry, counters);
    try {
      throwIfAborted(signal);
      await within(region.#register(), { signal });
      if (!(await within(region.isListed(), { signal }))) {
        // The server that carried it out may be there still.
        region.#state = 'uncertain';
        throw notListed(region.name);
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

  #register(): Promise<void> {
    this.#registering = this.#sendRegister();
    return this.#registering;
  }

  async #sendRegister(): Promise<void> {
    this.#counters.registerCalls += 1;
    const before = this.#state;
    this.#state = 'uncertain';
    kept.add(this.#memory);
    try {
      await this.#memory.register(this.#client, this.name);
    } catch (error) {
      // The name is nobody else's: an earlier attempt was carried out, ours or one that a proxy repeated.
      if (!isRegisteredAlready(error)) {
        if (!isUnanswered(error)) this.#state = before;
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
        const listed = await within(this.isListed(), { signal });
        if (this.#client.connectionEpoch === epoch) {
          if (!listed) return { ...unproven('the server that answers now does not know the region'), forgotten: true };
          if (!countsRegionUsers(version))
            return unproven(`a server of version '${version}' does not count a region's users`);
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
      await this.#leaveServer(signal);
    } catch (error) {
      const gone = isUnreachable(error) && !isTimeout(error);
      const freed = gone && this.kind === 'system';
      // No request is unanswered, so nobody writes to a shm object any more, and a server that still maps it has a
      // mapping of its own. Device memory must outlive the server's mapping.
      if (freed) {
        const outcome = await this.free();
        if (!outcome.proven) return { ...outcome, freed: false };
      } else {
        this.retire();
      }
      const late = signal.aborted ? 'the time to wait for the server was over' : messageOf(error);
      return { ...unproven(gone ? 'the server cannot be reached' : late), freed };
    }
    const outcome = await this.free();
    return { ...outcome, freed: outcome.proven };
  }

  /** Until the server has no registration of it, and will carry out none. Only without an unanswered request. */
  async #leaveServer(signal: AbortSignal): Promise<void> {
    if (this.#state === 'uncertain') await this.#settleRegistration(signal);
    if (this.#state === 'registered') await this.#unregister(signal, AWAY_MS[this.kind]);
    this.#state = 'unregistered';
  }

  /** As `release`, for a region whose request may be unanswered: by the second proof. */
  async releaseUnanswered(signal: AbortSignal): Promise<Release> {
    const proof = await this.proveReleased(signal);
    const outcome = proof.proven ? await this.free() : proof;
    if (!outcome.proven) this.retire();
    return { ...outcome, freed: outcome.proven };
  }

  /** Releases a region that no request has used, and warns when its memory could not be freed. */
  async discard(): Promise<void> {
    const release = await this.release(limited(DISCARD_MS, undefined));
    if (release.proven) return;
    this.#counters.lost.push({ region: this.name, reason: release.reason });
    if (!release.freed) this.warnOfLoss(release.reason);
  }

  /** Warns that the memory is gone until the process ends. */
  warnOfLoss(reason: string): void {
    const what = `${this.byteLength} bytes of region ${this.name} were given up until the process ends`;
    warn('ZEROHOP_RETIRED', `${what}: ${reason}`);
  }

  /** Frees memory that the server is proven to be done with. When that fails, as after a device error, it is retired. */
  async free(): Promise<Proof> {
    try {
      await this.#memory.free();
      kept.delete(this.#memory);
      return PROVEN;
    } catch (error) {
      this.retire();
      return unproven(`it could not be freed: ${messageOf(error)}`);
    }
  }

  /** Gives the memory up without freeing it: the server, or the device, may still use it. */
  retire(): void {
    kept.add(this.#memory);
    if (this.#state === 'uncertain') void this.#takeBack().catch(() => undefined);
  }

  /**
   * Undoes a register that the server carries out after the region was given up: no request carries its name. What the
   * server does later still is left to the reaper, which finds it by the entry.
   */
  async #takeBack(): Promise<void> {
    await this.#registering?.catch(() => undefined);
    await this.#leaveServer(limited(DISCARD_MS, undefined));
  }

  /** Finds out whether a register without an answer so far was carried out, and that it will not be later. */
  async #settleRegistration(signal: AbortSignal): Promise<void> {
    let withdrawn = false;
    await poll(
      signal,
      async () => {
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
      },
      AWAY_MS[this.kind],
    );
  }

  /** Until accepted ("in use" up to 2.52) and until status no longer lists the name (deferred from 2.53 on). */
  async #unregister(signal: AbortSignal, awayMs = 0): Promise<void> {
    let polls = 0;
    await poll(
      signal,
      async () => {
        const turn = polls;
        // Asked again at once after one that was refused, or got no answer.
        polls = 0;
        if (turn % POLLS_PER_UNREGISTER === 0) {
          await within(this.#memory.unregister(this.#client, this.name), { signal });
        }
        const listed = await within(this.isListed(), { signal });
        polls = turn + 1;
        return !listed;
      },
      awayMs,
    );
  }
}
