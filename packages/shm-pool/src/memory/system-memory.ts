/** A POSIX shared-memory object as a region: its entry in /dev/shm is the memory itself. */
import { type Device, type DeviceMemory, type PinnedMemory, SharedMemory } from '@zerohop/cuda-native';
import type { RegionClient } from '../client.js';
import { codeOf, messageOf, PoolError } from '../errors.js';
import { KEPT, type RegionMemory } from './region-memory.js';

export class SystemMemory implements RegionMemory {
  readonly kind = 'system';
  readonly #object: SharedMemory;
  #bytes: Uint8Array;
  readonly #registration: PinnedMemory | undefined;
  /** The same bytes, as kernels reach them. */
  readonly #onDevice: DeviceMemory | undefined;
  /** What device views are taken from, and end with. */
  #lent: DeviceMemory | undefined;

  private constructor(object: SharedMemory, registration?: PinnedMemory, onDevice?: DeviceMemory) {
    this.#object = object;
    this.#bytes = new Uint8Array(object.buffer);
    this.#registration = registration;
    this.#onDevice = onDevice;
    this.#lent = onDevice?.slice(0, onDevice.byteLength);
  }

  /**
   * Creates the object (0600 unless `mode` says otherwise, locked by this process, its pages reserved); with `device`,
   * page-locks it for that.
   * @throws PoolError ERR_SHM_FULL; SharedMemoryError; CudaError
   */
  static async allocate(
    entry: string,
    byteLength: number,
    { mode, device }: { readonly mode?: number; readonly device?: Device | undefined } = {},
  ): Promise<SystemMemory> {
    const object = await create(`/${entry}`, byteLength, mode);
    if (device === undefined) return new SystemMemory(object);
    let registration: PinnedMemory | undefined;
    try {
      registration = await device.registerHost(object);
      return new SystemMemory(object, registration, device.wrap(registration));
    } catch (error) {
      registration?.[Symbol.dispose]();
      object.unlink();
      object[Symbol.dispose]();
      throw error;
    }
  }

  get byteLength(): number {
    return this.#object.byteLength;
  }

  get key(): string {
    return this.#object.key;
  }

  /** A part of the memory; borrowed, valid until `endViews` or `free`. */
  view(byteOffset: number, byteLength: number): Uint8Array {
    return this.#bytes.subarray(byteOffset, byteOffset + byteLength);
  }

  /** As `view`, for kernels, fills and copies of the device that it was allocated with; undefined without one. */
  deviceView(byteOffset: number, byteLength: number): DeviceMemory | undefined {
    return this.#lent?.slice(byteOffset, byteLength);
  }

  /** Ends every view given out so far: a `Uint8Array` has length 0 then, a device view throws ERR_DISPOSED. */
  endViews(): void {
    this.#bytes = new Uint8Array(this.#object.renew());
    // Closing a slice frees nothing.
    void this.#lent?.close();
    this.#lent = this.#onDevice?.slice(0, this.#onDevice.byteLength);
  }

  register(client: RegionClient, name: string): Promise<void> {
    return client.systemSharedMemory.register({ name, key: this.key, byteLength: this.byteLength });
  }

  unregister(client: RegionClient, name: string): Promise<void> {
    return client.systemSharedMemory.unregister(name);
  }

  async isListed(client: RegionClient, name: string): Promise<boolean> {
    const regions = await client.systemSharedMemory.status(name);
    return regions.some((region) => region.name === name && region.key === this.key);
  }

  withdraw(): boolean {
    // Without its name nobody can open the object any more.
    this.#object.unlink();
    return true;
  }

  async free(): Promise<void> {
    this.#object.unlink();
    // Waits for what streams still do with it. A device that is lost keeps its registration, and so the mapping.
    await this.#registration?.close();
    // Unlike close(), waits for a copy to or from a device that still runs.
    this.#object[Symbol.dispose]();
  }
}

async function create(key: string, byteLength: number, mode: number | undefined): Promise<SharedMemory> {
  try {
    return await SharedMemory.create(key, byteLength, mode === undefined ? KEPT : { ...KEPT, mode });
  } catch (error) {
    if (codeOf(error) !== 'ERR_SHM_FULL') throw error;
    throw new PoolError('ERR_SHM_FULL', `${byteLength} bytes do not fit: ${messageOf(error)}`, { cause: error });
  }
}
