/** What a creator may choose. */
export interface SharedMemoryCreateOptions {
  /**
   * The file's permission bits; the umask does not apply.
   *
   * @defaultValue `0o600`
   */
  readonly mode?: number;
  /**
   * Whether the name, unlocked, outlives a process or worker thread that ends without closing the region, as it outlives a
   * kill: for a name that tells others what is to be cleaned up.
   *
   * @defaultValue `false`
   */
  readonly keepName?: boolean;
  /**
   * Which part of the region the creator itself maps: one ArrayBuffer shows 4 GiB at most on Node 20, and a region may be
   * larger. All of it is reserved; `SharedMemory.open` maps other parts.
   *
   * @defaultValue all of it
   */
  readonly map?: SharedMemoryOpenOptions;
}

/** Which part of a region to map. */
export interface SharedMemoryOpenOptions {
  /**
   * Where the mapping starts, in bytes; any number, not only multiples of the page size.
   *
   * @defaultValue `0`
   */
  readonly byteOffset?: number;
  /**
   * How many bytes to map.
   *
   * @defaultValue all from `byteOffset` to the end
   */
  readonly byteLength?: number;
}
