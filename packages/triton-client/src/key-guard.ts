import type { ControlCall, ControlTransport } from './control.js';
import { TritonError } from './errors.js';
import type { SystemRegionStatus } from './types/regions.js';

/** How long one look at the server's regions serves further registrations, as of a pool's slots one after another. */
const LOOK_MS = 100;

/** What the server had registered: names by key. */
interface Look {
  readonly epoch: number;
  readonly at: number;
  readonly names: Map<string, string>;
}

/**
 * Registers system regions, one name to a key. Under a second name servers reuse a closed file descriptor: the call
 * fails, or it succeeds and maps another client's object (2.48, 2.51). They compare keys as strings, and so does this.
 * Another client may still take the key between the look and the call: use keys that nobody else makes.
 */
export class KeyGuard {
  readonly #control: () => ControlTransport;
  readonly #epoch: () => number;
  /** Registrations of this client that have no answer yet. */
  readonly #underWay = new Map<string, { readonly name: string; count: number }>();
  #look: Look | undefined;
  #looking: { readonly timeoutMs: number; readonly names: Promise<Map<string, string>> } | undefined;
  /** Rises with every change; a look that began before tells nothing about what came after. */
  #changes = 0;

  constructor(control: () => ControlTransport, epoch: () => number) {
    this.#control = control;
    this.#epoch = epoch;
  }

  /** @throws TritonError `TRITON_SHM_KEY_IN_USE` */
  async register(region: Omit<SystemRegionStatus, 'byteOffset'>, call: ControlCall): Promise<void> {
    const { name, key } = region;
    const started = performance.now();
    const entry = this.#underWay.get(key) ?? { name, count: 0 };
    if (entry.name !== name) throw inUse(region, entry.name);
    entry.count += 1;
    this.#underWay.set(key, entry);
    try {
      let holder = (await this.#names(call)).get(key);
      // Someone else may have unregistered it since that look: refuse by a fresh one only.
      if (holder !== undefined && holder !== name) holder = (await this.#ask(call)).get(key);
      if (holder !== undefined && holder !== name) throw inUse(region, holder);
      const timeoutMs = Math.max(1, Math.ceil(call.timeoutMs - (performance.now() - started)));
      await this.#control().registerSystemRegion(region, { ...call, timeoutMs });
      const look = this.#look;
      this.forget();
      look?.names.set(key, name);
      this.#look = look;
    } catch (error) {
      // It may have been carried out all the same.
      this.forget();
      throw error;
    } finally {
      entry.count -= 1;
      if (entry.count === 0) this.#underWay.delete(key);
    }
  }

  /** What the server has registered is no longer known. */
  forget(): void {
    this.#look = undefined;
    this.#looking = undefined;
    this.#changes += 1;
  }

  async #names(call: ControlCall): Promise<Map<string, string>> {
    const look = this.#look;
    if (look !== undefined && look.epoch === this.#epoch() && performance.now() - look.at < LOOK_MS) return look.names;
    const { timeoutMs, signal, headers } = call;
    // A look that its caller may end, or that needs its headers, is that caller's alone.
    if (signal !== undefined || headers !== undefined) return this.#ask(call);
    if (this.#looking?.timeoutMs === timeoutMs) return this.#looking.names;
    const looking = { timeoutMs, names: this.#ask(call) };
    this.#looking = looking;
    try {
      return await looking.names;
    } finally {
      if (this.#looking === looking) this.#looking = undefined;
    }
  }

  async #ask(call: ControlCall): Promise<Map<string, string>> {
    const at = performance.now();
    const changes = this.#changes;
    const regions = await this.#control().systemRegions('', call);
    const names = new Map(regions.map(({ name, key }) => [key, name]));
    if (this.#changes === changes) this.#look = { epoch: this.#epoch(), at, names };
    return names;
  }
}

function inUse({ name, key }: { readonly name: string; readonly key: string }, holder: string): TritonError {
  const details = `The key '${key}' is registered as '${holder}'. Triton mishandles a second name for it ('${name}')`;
  return new TritonError(`${details}: use that name, or a key of its own for each region`, {
    code: 'TRITON_SHM_KEY_IN_USE',
    method: 'SystemSharedMemoryRegister',
    details,
    region: holder,
  });
}
