/**
 * An exportable allocation of device memory as a region. Its entry in /dev/shm is empty: it says who made the region
 * and, by its lock, that the maker lives.
 */
import { type Device, type DeviceMemory, SharedMemory } from '@zerohop/cuda-native';
import type { RegionClient } from '../client.js';
import type { RegionMemory } from './region-memory.js';

export class CudaMemory implements RegionMemory {
  readonly kind = 'cuda';
  readonly #marker: SharedMemory;
  readonly #memory: DeviceMemory;
  readonly #serverDeviceId: number;

  private constructor(marker: SharedMemory, memory: DeviceMemory, serverDeviceId: number) {
    this.#marker = marker;
    this.#memory = memory;
    this.#serverDeviceId = serverDeviceId;
  }

  static async allocate(
    entry: string,
    byteLength: number,
    device: Device,
    serverDeviceId: number,
  ): Promise<CudaMemory> {
    const marker = await SharedMemory.create(`/${entry}`, 0);
    try {
      return new CudaMemory(marker, await device.alloc(byteLength, { exportable: true }), serverDeviceId);
    } catch (error) {
      removeMarker(marker);
      throw error;
    }
  }

  get byteLength(): number {
    return this.#memory.byteLength;
  }

  get key(): string {
    return this.#marker.key;
  }

  view(byteOffset: number, byteLength: number): DeviceMemory {
    return this.#memory.slice(byteOffset, byteLength);
  }

  register(client: RegionClient, name: string): Promise<void> {
    const { rawHandle } = this.#memory.exportIpc();
    return client.cudaSharedMemory.register({
      name,
      rawHandle,
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
    await this.#memory.close();
    removeMarker(this.#marker);
  }
}

function removeMarker(marker: SharedMemory): void {
  marker.unlink();
  marker.close();
}
