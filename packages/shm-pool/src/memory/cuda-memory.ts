/**
 * An exportable allocation of device memory as a region. Its entry in /dev/shm is empty: it says who made the region
 * and, by its lock, that the maker lives.
 */
import { type Device, type DeviceMemory, type IpcMemHandle, SharedMemory } from '@zerohop/cuda-native';
import type { RegionClient } from '../client.js';
import { KEPT, type RegionMemory } from './region-memory.js';

/** Part of an allocation that is another's to free. */
export interface AdoptedPart {
  readonly handle: IpcMemHandle;
  /** In bytes, from `handle.byteOffset` on. */
  readonly byteLength: number;
  /** Kept from being collected while the server may use it; absent when it is another process's. */
  readonly memory?: DeviceMemory | undefined;
}

export class CudaMemory implements RegionMemory {
  readonly kind = 'cuda';
  readonly byteLength: number;
  readonly #marker: SharedMemory;
  readonly #rawHandle: Uint8Array;
  readonly #serverDeviceId: number;
  readonly #memory: DeviceMemory | undefined;
  readonly #owned: boolean;
  /** What views are taken from, and end with. */
  #lent: DeviceMemory | undefined;

  private constructor(
    marker: SharedMemory,
    { handle, byteLength, memory }: AdoptedPart,
    serverDeviceId: number,
    owned: boolean,
  ) {
    this.#marker = marker;
    this.#rawHandle = handle.rawHandle;
    // A registration has no offset: it begins where the allocation does, and shows no more of it than it has to.
    this.byteLength = handle.byteOffset + byteLength;
    this.#memory = memory;
    this.#lent = memory?.slice(0, memory.byteLength);
    this.#serverDeviceId = serverDeviceId;
    this.#owned = owned;
  }

  static async allocate(
    entry: string,
    byteLength: number,
    device: Device,
    serverDeviceId: number,
  ): Promise<CudaMemory> {
    const marker = await SharedMemory.create(`/${entry}`, 0, KEPT);
    try {
      const memory = await device.alloc(byteLength, { exportable: true });
      return new CudaMemory(marker, { handle: memory.exportIpc(), byteLength, memory }, serverDeviceId, true);
    } catch (error) {
      removeMarker(marker);
      throw error;
    }
  }

  /** Never opened, exported or freed here. */
  static async adopt(entry: string, part: AdoptedPart, serverDeviceId: number): Promise<CudaMemory> {
    const marker = await SharedMemory.create(`/${entry}`, 0, KEPT);
    try {
      return new CudaMemory(marker, part, serverDeviceId, false);
    } catch (error) {
      removeMarker(marker);
      throw error;
    }
  }

  get key(): string {
    return this.#marker.key;
  }

  /** A part of the memory that was allocated here; borrowed, valid until `endViews` or `free`. */
  view(byteOffset: number, byteLength: number): DeviceMemory {
    if (this.#lent === undefined) throw new Error("Another process's memory is not open here");
    return this.#lent.slice(byteOffset, byteLength);
  }

  /** Ends every view given out so far: it throws ERR_DISPOSED then. */
  endViews(): void {
    // Closing a slice frees nothing.
    void this.#lent?.close();
    this.#lent = this.#memory?.slice(0, this.#memory.byteLength);
  }

  register(client: RegionClient, name: string): Promise<void> {
    return client.cudaSharedMemory.register({
      name,
      rawHandle: this.#rawHandle,
      deviceId: this.#serverDeviceId,
      byteLength: this.byteLength,
    });
  }

  unregister(client: RegionClient, name: string): Promise<void> {
    return client.cudaSharedMemory.unregister(name);
  }

  async isListed(client: RegionClient, name: string): Promise<boolean> {
    const regions = await client.cudaSharedMemory.status(name);
    return regions.some((region) => region.name === name);
  }

  withdraw(): boolean {
    // An IPC handle is valid for as long as its allocation lives.
    return false;
  }

  async free(): Promise<void> {
    if (this.#owned) await this.#memory?.close();
    removeMarker(this.#marker);
  }
}

function removeMarker(marker: SharedMemory): void {
  marker.unlink();
  marker.close();
}
