import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Random } from './random.js';

const PAGE = 4096;
const PAGES = 4;

/** What can be registered. An object's names are told apart from those of regions, which both servers see the same. */
const REGIONS = ['r', 's', 'é', 'a/b'] as const;

/**
 * Objects in /dev/shm that both servers map, each with the same bytes before either gets a request, and which regions of
 * them are registered.
 *
 * Three things are left out here as real servers die of them, or do what depends on their descriptors: a second name for a
 * key, a use that leaves its mapping (offsets other than 0 count twice), a shrinking object.
 */
export class SharedObjects implements Disposable {
  readonly keys = ['a', 'b'].map((name) => `/zerohop-differential-${randomBytes(6).toString('hex')}-${name}`);
  /** Keys of the regions that are registered, by name. */
  readonly registered = new Map<string, string>();

  constructor() {
    for (const key of this.keys) writeFileSync(`/dev/shm${key}`, '');
    this.refill();
  }

  /** The same bytes for each server: numbers that say where they are. They also are elements of BYTES, of no bytes. */
  refill(): void {
    this.keys.forEach((key, number) => {
      const bytes = Buffer.alloc(PAGE * PAGES);
      for (let at = 0; at < bytes.byteLength; at += 4) bytes.writeUInt32LE(number === 0 ? 0 : at, at);
      writeFileSync(`/dev/shm${key}`, bytes, { flag: 'r+' });
    });
  }

  /** Whether a region has nothing but zeros, which are elements of BYTES of any number, none cut off; or is none. */
  isZeros(name: string): boolean {
    const key = this.registered.get(name);
    return key === undefined || key === this.keys[0];
  }

  /** The servers are new. */
  forget(): void {
    this.registered.clear();
  }

  contents(): string {
    return this.keys.map((key) => readFileSync(`/dev/shm${key}`).toString('base64')).join(' ');
  }

  [Symbol.dispose](): void {
    for (const key of this.keys) rmSync(`/dev/shm${key}`, { force: true });
  }

  regionName(random: Random): string {
    const names = [...this.registered.keys()];
    return names.length > 0 && random.chance(0.9) ? random.pick(names) : random.pick([...REGIONS, 'nope', '']);
  }

  newRegion(random: Random): { name: string; key: string; offset: bigint; byte_size: bigint } {
    const used = [...this.registered.values()];
    const free = this.keys.filter((key) => !used.includes(key));
    const key = random.chance(0.9) && free.length > 0 ? random.pick(free) : random.pick(['/zerohop-none', '', '/x/y']);
    const whole = BigInt(PAGE * PAGES);
    const [offset, size] = random.pick<readonly [bigint, bigint]>([
      ...random.times(6, () => [0n, whole] as const),
      [0n, 8192n],
      [0n, 100n],
      [0n, 0n],
      [0n, whole + 1n],
      [4096n, 8192n],
      [4096n, 12288n],
      [4096n, whole],
      [1n, 100n],
      [whole, 1n],
    ]);
    return { name: random.pick(REGIONS), key, offset, byte_size: size };
  }

  /** Mostly one that fits: within the first page, so that it is within each mapping that begins at page 0 or 1. */
  extent(random: Random, byteLength: number): { offset: bigint; size: bigint } {
    const size = BigInt(byteLength);
    return {
      offset: random.pick([0n, 0n, 0n, 8n, 64n, 1000n, 1n, 40000n]),
      size: random.pick([size, size, size, size, size, size + 1n, size - 1n, size * 2n, 0n]),
    };
  }
}
