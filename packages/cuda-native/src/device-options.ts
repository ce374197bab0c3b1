/** How to allocate. */
export interface AllocOptions {
  /**
   * Whether the memory may be exported to other processes. It is then an allocation of its own, rounded up to
   * 2 MiB and zeroed, because an IPC handle shows its peer the whole block.
   *
   * @defaultValue `false`
   */
  readonly exportable?: boolean;
}

/** How to take somebody else's memory. */
export interface WrapOptions {
  /** What owns the memory: kept from being collected for as long as the wrapped memory is. */
  readonly keepAlive: unknown;
}

/** How to make a stream. */
export interface StreamOptions {
  /**
   * Work of streams with a lower number goes first: between `device.streamPriorities.greatest` and `.least`.
   *
   * @defaultValue `0`
   */
  readonly priority?: number;
}

/** Device memory in bytes, as the driver counts it for all processes together. */
export interface MemoryInfo {
  readonly free: number;
  readonly total: number;
}
