import type { CudaRegionStatus, Regions, RegionUse, SystemRegionStatus } from '../core/regions.js';
import type { Personality } from '../personality.js';
import { internal, invalid, notFound, ServerError, unsupported } from '../status.js';
import { Turns } from '../turns.js';
import { Addresses, CountedUse } from './counted-use.js';
import { Descriptors, openObject } from './descriptors.js';
import { DeviceOpener } from './device-memory.js';
import { fits, mappingError, pages, unsigned, useError } from './extents.js';
import { SystemMemory } from './system-memory.js';

type Kind = 'system' | 'cuda';

/** How messages write the kinds; the word for CUDA has two spellings. */
const WORDS: Readonly<Record<Kind, string>> = { system: 'system', cuda: 'CUDA' };

interface Region {
  readonly name: string;
  readonly kind: Kind;
  readonly key: string;
  readonly offset: bigint;
  readonly byteSize: bigint;
  readonly deviceId: bigint;
  /** The number of the descriptor, of system memory: used again, though closed. */
  readonly descriptor: number;
  readonly addresses: Addresses;
  users: number;
  /** Unregistered while in use: it goes with its last user. */
  leaving: boolean;
}

export interface RegionTableOptions {
  /** Whether clients may register regions. Default: what the personality does. */
  readonly clientSharedMemory?: boolean;
  /** Called where a real server's process ends, such as by SIGBUS; this one goes on. Once, until `clear`. */
  readonly onCrash: (reason: string) => void;
  /** What has to be waited for before anything is written; undefined when nothing has. */
  readonly thawed?: () => Promise<void> | undefined;
}

const RESERVED_PREFIX = 'triton_python_backend_shm_region_';

/** std::map's order. */
const byName = (a: Region, b: Region) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));

/**
 * The regions that clients have registered, as SharedMemoryManager keeps them, its bugs included: each is named where it is
 * imitated, with its source.
 */
export class RegionTable implements Regions {
  readonly #personality: Personality;
  readonly #allowed: boolean;
  readonly #onCrash: (reason: string) => void;
  readonly #thawed: () => Promise<void> | undefined;
  /** That of the process whose requests use the regions. */
  #life = { over: false, crashed: false };
  readonly #regions = new Map<string, Region>();
  readonly #descriptors = new Descriptors();
  readonly #devices = new DeviceOpener();
  /** Where 2.48 has unmapped what requests still use; the next mapping of this many pages gets the addresses. */
  #holes: { readonly addresses: Addresses; readonly pages: bigint }[] = [];
  /** Registrations are made one after the other, as under the server's mutex. */
  readonly #turns = new Turns();

  constructor(personality: Personality, options: RegionTableOptions) {
    this.#personality = personality;
    this.#allowed = options.clientSharedMemory ?? personality.clientSharedMemory;
    this.#onCrash = options.onCrash;
    this.#thawed = options.thawed ?? (() => undefined);
  }

  use(name: string, offset: bigint, byteLength: bigint): RegionUse {
    const region = this.#regions.get(name);
    // With the name "", which gRPC can register, a request finds the region too.
    if (region === undefined) throw notFound(`Unable to find shared memory region: '${name}'`);
    const from = unsigned(offset);
    const length = unsigned(byteLength);
    const error = useError(name, region.offset, region.byteSize, from, length, this.#personality);
    if (error !== undefined) throw error;
    region.users += 1;
    const life = this.#life;
    // The mapping begins at the offset already, and up to 2.53 it is added again (seen on 2.51 and 2.48).
    const at = this.#personality.appliesOffsetTwice ? region.offset + from : from;
    return new CountedUse(
      region,
      region.addresses,
      { at, byteSize: length },
      {
        thawed: this.#thawed,
        gone: () => life.over,
        onCrash: (reason) => this.#crash(reason),
        onRelease: () => {
          if (!life.over) this.#released(region);
        },
      },
    );
  }

  systemStatus(name: string): SystemRegionStatus[] {
    return this.#status('system', name).map(({ name, key, offset, byteSize }) => ({ name, key, offset, byteSize }));
  }

  cudaStatus(name: string): CudaRegionStatus[] {
    return this.#status('cuda', name).map(({ name, deviceId, byteSize }) => ({ name, deviceId, byteSize }));
  }

  registerSystem(region: { name: string; key: string; offset: bigint; byteSize: bigint }): Promise<void> {
    return this.#turns.run(() => this.#registerSystem(region));
  }

  registerCuda(region: { name: string; rawHandle: Uint8Array; deviceId: bigint; byteSize: bigint }): Promise<void> {
    return this.#turns.run(async () => {
      const { name, rawHandle, deviceId, byteSize } = region;
      this.#checkAllowed();
      this.#checkNew(name);
      const addresses = new Addresses(await this.#devices.open(name, rawHandle, deviceId, byteSize));
      this.#add({ name, kind: 'cuda', key: '', offset: 0n, byteSize, deviceId, descriptor: -1, addresses });
    });
  }

  unregisterSystem(name: string): void {
    void this.#unregister('system', name);
  }

  async unregisterCuda(name: string): Promise<void> {
    await this.#unregister('cuda', name);
  }

  clear(): Promise<void> {
    this.#endLife();
    return this.#turns.run(async () => {
      // What was registered since, by what was still in progress.
      this.#endLife();
      // Nobody is left who could be told that a driver refused.
      const closing = [...this.#regions.values()].map(({ addresses }) => addresses.unmap().catch(() => undefined));
      this.#regions.clear();
      this.#descriptors.clear();
      await Promise.all(closing);
    });
  }

  handOver(): void {
    this.#endLife();
    for (const region of this.#regions.values()) {
      region.users = 0;
      if (region.leaving) void this.#leave(region).catch(() => undefined);
    }
  }

  #endLife(): void {
    this.#life.over = true;
    this.#life = { over: false, crashed: false };
    this.#holes = [];
  }

  async #registerSystem(region: { name: string; key: string; offset: bigint; byteSize: bigint }): Promise<void> {
    const { name, key, offset, byteSize } = region;
    this.#checkAllowed();
    this.#checkKey(name, key);
    this.#checkNew(name);
    const descriptor = this.#descriptorFor(key);
    const object = this.#descriptors.get(descriptor);
    // A second name for a key: the number of the first, long closed (seen on 2.51 and 2.48).
    if (object === undefined) throw internal(`Invalid shared memory region: '${key}'`);
    // Here the server returns without closing the descriptor, so that a second name for a key may get this object.
    if (!fits(offset, byteSize, object.extent().size)) {
      throw invalid(`failed to register shared memory region '${name}': invalid args`);
    }
    this.#descriptors.remove(descriptor);
    const error = mappingError(offset, byteSize);
    if (error !== undefined) {
      object.close();
      throw invalid(`failed to register shared memory region '${name}': unable to process address space${error}`);
    }
    let memory: SystemMemory | undefined;
    try {
      memory = await SystemMemory.open(object, offset, byteSize);
    } finally {
      if (memory === undefined) object.close();
    }
    if (memory === undefined) throw internal(`Unable to open shared memory region: '${key}'`);
    const addresses = this.#hole(pages(byteSize));
    addresses.map(memory);
    this.#add({ name, kind: 'system', key, offset, byteSize, deviceId: 0n, descriptor, addresses });
  }

  /** The number under which the server finds a key's object. */
  #descriptorFor(key: string): number {
    const known = [...this.#regions.values()]
      .sort(byName)
      .find((region) => region.kind === 'system' && region.key === key);
    if (known !== undefined) return known.descriptor;
    const object = openObject(key);
    if (object === undefined) throw internal(`Unable to open shared memory region: '${key}'`);
    return this.#descriptors.add(object);
  }

  /** Addresses for a mapping: on 2.48 those that a request in flight still has (seen there). */
  #hole(count: bigint): Addresses {
    const index = this.#holes.findIndex((hole) => hole.pages === count);
    return this.#holes.splice(index === -1 ? this.#holes.length : index, 1)[0]?.addresses ?? new Addresses();
  }

  #add(region: Omit<Region, 'users' | 'leaving'>): void {
    this.#regions.set(region.name, { ...region, users: 0, leaving: false });
  }

  #status(kind: Kind, name: string): Region[] {
    if (name === '') return [...this.#regions.values()].filter((region) => region.kind === kind).sort(byName);
    const region = this.#regions.get(name);
    if (region === undefined) {
      const word = kind === 'cuda' ? this.#personality.unknownCudaRegion : 'system';
      throw notFound(`Unable to find ${word} shared memory region: '${name}'`);
    }
    if (region.kind === kind) return [region];
    throw notFound(
      `The region named '${name}' is registered as ${WORDS[region.kind]} shared memory, not ${WORDS[kind]} shared memory`,
    );
  }

  /** Takes the table's entries away at once; resolves when the memory is closed. */
  #unregister(kind: Kind, name: string): Promise<void> {
    this.#checkAllowed();
    if (name !== '') {
      const region = this.#regions.get(name);
      // Of an unknown name, or one of the other kind, the server says OK.
      if (region?.kind !== kind) return Promise.resolve();
      if (this.#refusesToLeave(region)) {
        throw internal(`Cannot unregister shared memory region '${name}', it is currently in use.`);
      }
      return this.#leave(region);
    }
    const regions = this.#status(kind, '');
    const failed = regions.filter((region) => this.#refusesToLeave(region));
    const left = regions.filter((region) => !failed.includes(region)).map((region) => this.#leave(region));
    if (failed.length === 0) return Promise.all(left).then(() => undefined);
    const names = failed.map((region) => `${region.name} ,`).join('');
    throw internal(`Failed to unregister the following ${kind} shared memory regions: ${names}`);
  }

  #refusesToLeave(region: Region): boolean {
    return region.users > 0 && this.#personality.unregisterInUse === 'refuse';
  }

  #leave(region: Region): Promise<void> {
    if (region.users > 0 && this.#personality.unregisterInUse === 'defer') {
      region.leaving = true;
      return Promise.resolve();
    }
    this.#regions.delete(region.name);
    if (region.users > 0 && region.kind === 'system') {
      this.#holes.push({ addresses: region.addresses, pages: pages(region.byteSize) });
    }
    return region.addresses.unmap();
  }

  #released(region: Region): void {
    region.users -= 1;
    if (region.users > 0) return;
    this.#holes = this.#holes.filter(({ addresses }) => addresses !== region.addresses);
    // Nobody waits for the end of a deferred one, so nobody could be told that the driver refused.
    if (region.leaving && this.#regions.get(region.name) === region) void this.#leave(region).catch(() => undefined);
  }

  /** A process dies once; others of its requests meet the same until all is cleared. */
  #crash(reason: string): void {
    if (this.#life.crashed) return;
    this.#life.crashed = true;
    this.#onCrash(reason);
  }

  #checkAllowed(): void {
    if (this.#allowed) return;
    throw unsupported("Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.");
  }

  #checkNew(name: string): void {
    if (!this.#regions.has(name)) return;
    throw new ServerError('ALREADY_EXISTS', `shared memory region '${name}' already in manager`);
  }

  #checkKey(name: string, key: string): void {
    if (!this.#personality.checksKeys) return;
    const file = key.replace(/^\/+/, '');
    if (file === '') throw invalid(`cannot register shared memory region '${name}' - invalid shm key '${key}'`);
    if (!file.startsWith(RESERVED_PREFIX)) return;
    throw invalid(
      `cannot register shared memory region '${name}' with key '${key}' as the key contains the reserved prefix '${RESERVED_PREFIX}'`,
    );
  }
}
