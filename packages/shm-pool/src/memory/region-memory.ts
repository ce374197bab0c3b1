/** Memory that a server can be told to open. One implementation per kind of Triton's shared memory. */
import type { RegionClient } from '../client.js';

/**
 * A process that ends without closing its regions, as by an uncaught exception, leaves their names as a kill does: they
 * lead the next start to the registrations.
 */
export const KEPT = { keepName: true } as const;

export interface RegionMemory {
  readonly kind: 'cuda' | 'system';
  /** What is registered, from the first byte of the allocation or object on. */
  readonly byteLength: number;
  /** The entry's key in /dev/shm (with its slash). The memory's own for `system`, an empty marker for `cuda`. */
  readonly key: string;
  register(client: RegionClient, name: string): Promise<void>;
  unregister(client: RegionClient, name: string): Promise<void>;
  /** Whether the server lists this memory under that name. */
  isListed(client: RegionClient, name: string): Promise<boolean>;
  /**
   * Makes a registration that the server has not carried out yet fail when it does, and leaves one that it has as it
   * is. False where that can't be done.
   */
  withdraw(): boolean;
  /** Frees the memory, unless it is somebody else's, and removes its entry. Only when no one else uses it. */
  free(): Promise<void>;
}
