/** One request's use of a part of a region: counted until `release`. */
export interface RegionUse {
  readonly name: string;
  /** What is system memory is read and written at once, without a promise. */
  readonly kind: 'system' | 'cuda';
  readonly byteLength: number;
  /** The same, exact, as texts show it: an output's size may have wrapped to 2^64-1. */
  readonly byteSize: bigint;
  /** A copy of the bytes as they are now. @throws EmulatedCrash, or ServerError when the request or its server is over */
  read(): Uint8Array | Promise<Uint8Array>;
  /** The bytes in place; undefined for what can't be shown, such as a GPU's. @throws as `read` */
  view(): Uint8Array | undefined;
  /** A copy of bytes that lie in the region, such as of its `view`; undefined for all others. @throws as `read` */
  copyOf(bytes: Uint8Array): Uint8Array | undefined;
  /** Writes from the part's beginning; `bytes` are at most as long as it is. @throws EmulatedCrash */
  write(bytes: Uint8Array): void | Promise<void>;
  /** Gives the reference back; a second time is nothing. */
  release(): void;
}

/** A use with other ways of some of what it does. */
export function regionWith(
  region: RegionUse,
  change: Partial<Pick<RegionUse, 'read' | 'write' | 'release'>>,
): RegionUse {
  return {
    name: region.name,
    kind: region.kind,
    byteLength: region.byteLength,
    byteSize: region.byteSize,
    read: () => region.read(),
    view: () => region.view(),
    copyOf: (bytes) => region.copyOf(bytes),
    write: (bytes) => region.write(bytes),
    release: () => region.release(),
    ...change,
  };
}

export interface SystemRegionStatus {
  readonly name: string;
  readonly key: string;
  readonly offset: bigint;
  readonly byteSize: bigint;
}

export interface CudaRegionStatus {
  readonly name: string;
  readonly deviceId: bigint;
  readonly byteSize: bigint;
}

/** The server's table of regions: both kinds share one space of names. Every method throws ServerErrors. */
export interface Regions {
  /** A reference to a part of a region, for a request's tensor. Extents are int64s as they came, so perhaps negative. */
  use(name: string, offset: bigint, byteLength: bigint): RegionUse;

  /** `name` '' lists all. */
  systemStatus(name: string): SystemRegionStatus[];
  registerSystem(region: { name: string; key: string; offset: bigint; byteSize: bigint }): Promise<void>;
  /** `name` '' means all. */
  unregisterSystem(name: string): void;

  cudaStatus(name: string): CudaRegionStatus[];
  registerCuda(region: { name: string; rawHandle: Uint8Array; deviceId: bigint; byteSize: bigint }): Promise<void>;
  unregisterCuda(name: string): Promise<void>;

  /**
   * Forgets and unmaps everything, as the end of the process does. What requests in flight then write is lost, and their
   * reads throw.
   */
  clear(): Promise<void>;
  /** As `clear`, but all that is registered stays, for another process: no request uses it any more. */
  handOver(): void;
}
