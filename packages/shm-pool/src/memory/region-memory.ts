/** Memory that a server can be told to open. One implementation per kind of Triton's shared memory. */
import type { DeviceMemory } from '@zerohop/cuda-native';
import type { RegionClient } from '../client.js';

export interface RegionMemory {
  readonly kind: 'cuda' | 'system';
  readonly byteLength: number;
  /** The entry's key in /dev/shm (with its slash). The memory's own for `system`, an empty marker for `cuda`. */
  readonly key: string;
  /** A part of the memory; borrowed, valid until `free`. */
  view(byteOffset: number, byteLength: number): Uint8Array | DeviceMemory;
  register(client: RegionClient, name: string): Promise<void>;
  unregister(client: RegionClient, name: string): Promise<void>;
  /** Whether the server lists this memory under that name. */
  isListed(client: RegionClient, name: string): Promise<boolean>;
  /**
   * Makes a registration that the server has not carried out yet fail when it does, and leaves one that it has as it
   * is. False where that can't be done.
   */
  withdraw(): boolean;
  /** Frees the memory and removes its entry. Only when no one else uses it. */
  free(): Promise<void>;
}
