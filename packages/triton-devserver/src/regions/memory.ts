/**
 * The memory of a region, of either kind. Offsets are from the beginning of the server's mapping, in bytes, and may lead out
 * of it: a real server checks nothing here any more.
 */
export interface RegionMemory {
  /** A copy. @throws EmulatedCrash where a real server would die */
  read(offset: bigint, byteLength: bigint): Uint8Array | Promise<Uint8Array>;
  /** The memory itself; undefined where it can't be shown. @throws EmulatedCrash where a real server would die */
  view(offset: bigint, byteLength: bigint): Uint8Array | undefined;
  /** A copy of bytes that lie in this memory; undefined for others. @throws EmulatedCrash where a real server would die */
  copyOf(bytes: Uint8Array): Uint8Array | undefined;
  /** Returns a promise when the bytes are not there yet. @throws EmulatedCrash where a real server would die */
  write(offset: bigint, bytes: Uint8Array): void | Promise<void>;
  close(): void | Promise<void>;
}
