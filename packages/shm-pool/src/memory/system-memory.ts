/** A POSIX shared-memory object as a region: its entry in /dev/shm is the memory itself. */
import { SharedMemory } from '@zerohop/cuda-native';
import type { RegionClient } from '../client.js';
import type { RegionMemory } from './region-memory.js';

export class SystemMemory implements RegionMemory {
  readonly kind = 'system';
  readonly #object: SharedMemory;
  readonly #bytes: Uint8Array;

  private constructor(object: SharedMemory) {
    this.#object = object;
    this.#bytes = new Uint8Array(object.buffer);
  }

  /** Creates the object (0600, locked by this process, its pages reserved). */
  static async allocate(entry: string, byteLength: number): Promise<SystemMemory> {
    return new SystemMemory(await SharedMemory.create(`/${entry}`, byteLength));
  }

  get byteLength(): number {
    return this.#object.byteLength;
  }

  get key(): string {
    return this.#object.key;
  }

  view(byteOffset: number, byteLength: number): Uint8Array {
    return this.#bytes.subarray(byteOffset, byteOffset + byteLength);
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

  free(): Promise<void> {
    this.#object.unlink();
    // Unlike close(), waits for a copy to or from a device that still runs.
    this.#object[Symbol.dispose]();
    return Promise.resolve();
  }
}
