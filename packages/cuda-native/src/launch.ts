import { isKind } from './abi.js';
import { bytesOf } from './bytes-of.js';
import { checkInteger, invalid } from './check.js';
import { type KernelParts, kernelParts } from './kernel.js';
import type { Parameter } from './kernel-signature.js';
import { deviceMemoryParts } from './memory.js';
import { binding } from './native/load.js';
import { pinnedMemoryParts } from './pinned-memory.js';
import type { Resource } from './resource.js';

/** A size in one to three dimensions: x, or [x, y, z] from the fastest on; what is left out is 1. */
export type Dim3 = number | readonly [x: number, y?: number, z?: number];

/** How a kernel is launched. */
export interface LaunchConfig {
  /** Blocks. At most 2^31 - 1 in x, 65,535 in y and z. */
  readonly grid: Dim3;
  /** Threads of each block: at most `kernel.maxThreadsPerBlock` in all. */
  readonly block: Dim3;
  /**
   * Dynamic shared memory of each block, in bytes: at most `kernel.dynamicSharedBytes`.
   *
   * @defaultValue `0`
   */
  readonly sharedBytes?: number;
  /**
   * Blocks of each cluster, for compute capability 9.0 and newer: at most 8 in all, and a divisor of the grid in each
   * dimension.
   *
   * @defaultValue no clusters
   */
  readonly cluster?: Dim3;
}

type Three = [number, number, number];

const GRID_LIMITS: Three = [2 ** 31 - 1, 65535, 65535];
const BLOCK_LIMITS: Three = [1024, 1024, 64];
const CLUSTER_BLOCKS = 8;
const ARGUMENTS = 64;

interface Area {
  /** Grid, block, cluster, shared bytes. */
  readonly sizes: Uint32Array;
  readonly view: DataView;
  readonly bytes: Uint8Array;
}

let area: Area | undefined;

function launchArea(): Area {
  if (area === undefined) {
    const buffer = binding().launchArea();
    area = { sizes: new Uint32Array(buffer, 0, 10), view: new DataView(buffer), bytes: new Uint8Array(buffer) };
  }
  return area;
}

function writeDim3(sizes: Uint32Array, at: number, name: string, value: unknown, limits: Three): number {
  if (typeof value === 'number') {
    checkInteger(name, value, 1, limits[0]);
    sizes[at] = value;
    sizes[at + 1] = 1;
    sizes[at + 2] = 1;
    return value;
  }
  if (!Array.isArray(value) || value.length < 1 || value.length > 3) {
    throw invalid(name, 'number or array of 1 to 3 numbers', value);
  }
  let product = 1;
  for (let i = 0; i < 3; i += 1) {
    const size: unknown = value[i] ?? 1;
    checkInteger(`${name}[${i}]`, size, 1, limits[i] as number);
    sizes[at + i] = size;
    product *= size;
  }
  return product;
}

function writeConfig(sizes: Uint32Array, kernel: KernelParts, config: LaunchConfig): void {
  if (typeof config !== 'object' || config === null) throw invalid('config', 'object', config);
  const { grid, block, sharedBytes = 0, cluster } = config;
  writeDim3(sizes, 0, 'grid', grid, GRID_LIMITS);
  const threads = writeDim3(sizes, 3, 'block', block, BLOCK_LIMITS);
  if (threads > kernel.maxThreadsPerBlock) {
    throw invalid('block', `at most ${kernel.maxThreadsPerBlock} threads in all`, threads, RangeError);
  }
  checkInteger('sharedBytes', sharedBytes, 0, kernel.dynamicSharedBytes);
  sizes[9] = sharedBytes;
  if (cluster === undefined) {
    sizes.fill(0, 6, 9);
    return;
  }
  const blocks = writeDim3(sizes, 6, 'cluster', cluster, [CLUSTER_BLOCKS, CLUSTER_BLOCKS, CLUSTER_BLOCKS]);
  if (blocks > CLUSTER_BLOCKS) throw invalid('cluster', `at most ${CLUSTER_BLOCKS} blocks in all`, blocks, RangeError);
  for (let i = 0; i < 3; i += 1) {
    const [blocksOfGrid = 0, blocksOfCluster = 1] = [sizes[i], sizes[6 + i]];
    if (blocksOfGrid % blocksOfCluster !== 0) {
      throw invalid('cluster', 'a divisor of grid in each dimension', blocksOfCluster, RangeError);
    }
  }
  if (kernel.device.computeCapability.major < 9) {
    throw new RangeError(
      `Expected a device of compute capability 9.0 or newer for cluster but received device ${kernel.device.ordinal} of ` +
        `${kernel.device.computeCapability.major}.${kernel.device.computeCapability.minor}`,
    );
  }
}

const INTEGERS = {
  i8: [-(2 ** 7), 2 ** 7 - 1],
  u8: [0, 2 ** 8 - 1],
  i16: [-(2 ** 15), 2 ** 15 - 1],
  u16: [0, 2 ** 16 - 1],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
} as const;

function toBigInt(name: string, value: unknown, low: bigint, high: bigint): bigint {
  const expected = `bigint or safe integer between ${low} and ${high}`;
  if (typeof value !== 'bigint' && typeof value !== 'number') throw invalid(name, expected, value);
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw invalid(name, expected, value, RangeError);
  const integer = BigInt(value);
  if (integer < low || integer > high) throw invalid(name, expected, value, RangeError);
  return integer;
}

/** The address behind a pointer argument, and what must outlive the launch. */
function pointer(name: string, value: unknown, kernel: KernelParts): { address: bigint; resource?: Resource } {
  if (value === null) return { address: 0n };
  if (isKind(value, 'PinnedMemory')) {
    const { deviceAddress, resource } = pinnedMemoryParts(name, value);
    return { address: deviceAddress, resource };
  }
  if (!isKind(value, 'DeviceMemory')) throw invalid(name, 'DeviceMemory, PinnedMemory or null', value);
  const { allocation, byteOffset, resource } = deviceMemoryParts(name, value);
  if (allocation.device.ordinal !== kernel.device.ordinal && !kernel.device.hasPeerAccessTo(allocation.device)) {
    throw new RangeError(
      `Expected memory on device ${kernel.device.ordinal} for ${name} but received memory on device ` +
        `${allocation.device.ordinal}, to which enablePeerAccess was not called`,
    );
  }
  return { address: allocation.address + BigInt(byteOffset), resource };
}

function writeArgument(
  { view, bytes }: Area,
  kernel: KernelParts,
  index: number,
  { type, byteOffset, byteLength }: Parameter,
  value: unknown,
): Resource | undefined {
  const at = ARGUMENTS + byteOffset;
  const name = `argument ${index}`;
  switch (type) {
    case 'pointer': {
      const { address, resource } = pointer(name, value, kernel);
      view.setBigUint64(at, address, true);
      return resource;
    }
    case 'i64':
      view.setBigInt64(at, toBigInt(name, value, -(2n ** 63n), 2n ** 63n - 1n), true);
      return undefined;
    case 'u64':
      view.setBigUint64(at, toBigInt(name, value, 0n, 2n ** 64n - 1n), true);
      return undefined;
    case 'f32':
    case 'f64':
      if (typeof value !== 'number') throw invalid(name, 'number', value);
      if (type === 'f32') view.setFloat32(at, value, true);
      else view.setFloat64(at, value, true);
      return undefined;
    case 'struct': {
      const given = bytesOf(name, value, `ArrayBufferView of ${byteLength} bytes`);
      if (given.byteLength !== byteLength) {
        throw new RangeError(`Expected ${byteLength} bytes for ${name} but received ${given.byteLength} bytes`);
      }
      bytes.set(given, at);
      return undefined;
    }
    case 'i8':
    case 'u8':
    case 'i16':
    case 'u16':
    case 'i32':
    case 'u32': {
      const [low, high] = INTEGERS[type];
      checkInteger(name, value, low, high);
      // Two's complement: the low bytes are the same for either sign.
      if (byteLength === 4) view.setUint32(at, value, true);
      else if (byteLength === 2) view.setUint16(at, value, true);
      else view.setUint8(at, value);
      return undefined;
    }
  }
}

/** A launch, checked and written for the addon: what it uses, and how many bytes its arguments have. */
export interface PreparedLaunch {
  readonly kernel: KernelParts;
  readonly resources: Resource[];
}

/**
 * @throws TypeError | RangeError for wrong arguments.
 * @throws DisposedError when something is closed.
 */
export function prepareLaunch(kernel: unknown, config: LaunchConfig, args: readonly unknown[]): PreparedLaunch {
  const parts = kernelParts('kernel', kernel);
  const { parameters } = parts.layout;
  if (args.length !== parameters.length) {
    throw new RangeError(
      `Expected ${parameters.length} arguments for kernel '${parts.name}' but received ${args.length} arguments`,
    );
  }
  const to = launchArea();
  writeConfig(to.sizes, parts, config);
  const resources = [parts.resource];
  for (let i = 0; i < args.length; i += 1) {
    const resource = writeArgument(to, parts, i, parameters[i] as Parameter, args[i]);
    if (resource !== undefined) resources.push(resource);
  }
  return { kernel: parts, resources };
}
