import type { RegionUse } from '../core/regions.js';
import { EmulatedCrash } from '../crash.js';
import { internal } from '../status.js';
import type { RegionMemory } from './memory.js';

/** Where a region is mapped: what requests hold, whatever is mapped there by the time they come to it. */
export class Addresses {
  #memory: RegionMemory | undefined;

  constructor(memory?: RegionMemory) {
    this.#memory = memory;
  }

  /** @throws EmulatedCrash when nothing is mapped */
  memory(): RegionMemory {
    if (this.#memory === undefined) {
      throw new EmulatedCrash('SIGSEGV: a region was unregistered while a request used it');
    }
    return this.#memory;
  }

  map(memory: RegionMemory): void {
    this.#memory = memory;
  }

  /** Rejects when the driver refuses; system memory is unmapped when this returns. */
  async unmap(): Promise<void> {
    const memory = this.#memory;
    this.#memory = undefined;
    try {
      await memory?.close();
    } catch (cause) {
      throw internal(`failed to close CUDA IPC handle: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  }
}

/** What a use has of the table. */
export interface UseHooks {
  /** Whether the process that the request was of is gone: it reads and writes nothing any more. */
  readonly gone: () => boolean;
  /** See `RegionTableOptions.thawed`. */
  readonly thawed: () => Promise<void> | undefined;
  readonly onCrash: (reason: string) => void;
  readonly onRelease: () => void;
}

/** A reference to a part of a region. */
export class CountedUse implements RegionUse {
  readonly name: string;
  readonly kind: 'system' | 'cuda';
  readonly byteLength: number;
  readonly byteSize: bigint;
  readonly #addresses: Addresses;
  readonly #at: bigint;
  readonly #hooks: UseHooks;
  #released = false;

  /** @param extent from the beginning of the mapping, in bytes */
  constructor(
    { name, kind }: Pick<RegionUse, 'name' | 'kind'>,
    addresses: Addresses,
    { at, byteSize }: { readonly at: bigint; readonly byteSize: bigint },
    hooks: UseHooks,
  ) {
    this.name = name;
    this.kind = kind;
    this.byteLength = Number(byteSize);
    this.byteSize = byteSize;
    this.#addresses = addresses;
    this.#at = at;
    this.#hooks = hooks;
  }

  read(): Uint8Array | Promise<Uint8Array> {
    return this.#reporting(() => this.#memory().read(this.#at, this.byteSize));
  }

  view(): Uint8Array | undefined {
    return this.#reporting(() => this.#memory().view(this.#at, this.byteSize));
  }

  copyOf(bytes: Uint8Array): Uint8Array | undefined {
    return this.#reporting(() => this.#memory().copyOf(bytes));
  }

  write(bytes: Uint8Array): void | Promise<void> {
    const thawed = this.#hooks.thawed();
    if (thawed !== undefined) return thawed.then(() => this.write(bytes));
    if (this.#hooks.gone()) return;
    return this.#reporting(() => this.#addresses.memory().write(this.#at, bytes));
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#hooks.onRelease();
  }

  #memory(): RegionMemory {
    if (this.#hooks.gone()) throw internal(`The server that had the region '${this.name}' is gone`);
    if (this.#released) throw internal(`The request that used the region '${this.name}' is over`);
    return this.#addresses.memory();
  }

  #reporting<Result>(touch: () => Result): Result {
    try {
      return touch();
    } catch (error) {
      if (error instanceof EmulatedCrash) this.#hooks.onCrash(error.message);
      throw error;
    }
  }
}
