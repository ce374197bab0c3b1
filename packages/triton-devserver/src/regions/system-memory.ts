import { statSync } from 'node:fs';
import type { SharedMemory } from '@zerohop/cuda-native';
import { EmulatedCrash } from '../crash.js';
import type { OpenObject } from './descriptors.js';
import { wholePages } from './extents.js';
import type { RegionMemory } from './memory.js';
import { native, unusable } from './native.js';

/** Node 20 shows 4 GiB at most by one ArrayBuffer. */
const PART_BYTES = 2 ** 32;

const SHRUNK = 'SIGBUS: the owner of a shared memory object has shrunk it';

interface Part {
  /** From the object's beginning, in bytes. */
  readonly start: number;
  readonly memory: SharedMemory;
}

/** What is smaller is never shown in place: a copy costs less than the risk of a client that shrinks it. */
export const LEAST_IN_PLACE = 2 ** 20;

/**
 * Part of a POSIX shared memory object: read and written by system calls on its descriptor, which fail where an access to the
 * mapping would end the process by SIGBUS, and mapped for what is large enough to be shown in place. The object's size is
 * looked at before each use (fstat), and what a real server would touch outside is an EmulatedCrash.
 */
export class SystemMemory implements RegionMemory {
  readonly #object: OpenObject;
  /** Where the server's mapping begins and ends in the object, in whole pages. */
  readonly #from: bigint;
  readonly #to: bigint;
  readonly #parts: readonly Part[];
  readonly #stride: number;

  private constructor(object: OpenObject, from: bigint, to: bigint, parts: readonly Part[], stride: number) {
    this.#object = object;
    this.#from = from;
    this.#to = to;
    this.#parts = parts;
    this.#stride = stride;
  }

  /**
   * Maps a part of an object, which is closed with this. undefined: the key stands for another object by now.
   *
   * @param offset a multiple of the page size
   * @param partBytes the size of the largest mapping, a multiple of two pages; they overlap by half, so that what is not
   * larger than half lies in one
   * @throws ServerError when cuda-native does not work here
   */
  static async open(
    object: OpenObject,
    offset: bigint,
    byteSize: bigint,
    partBytes = PART_BYTES,
  ): Promise<SystemMemory | undefined> {
    const { SharedMemory, NativeUnavailableError } = await native();
    const parts: Part[] = [];
    try {
      const to = offset + wholePages(byteSize);
      const end = Math.min(Number(to), Number(object.extent().size));
      for (let start = Number(offset); start < end; start += partBytes / 2) {
        const byteLength = Math.min(partBytes, end - start);
        parts.push({ start, memory: await SharedMemory.open(object.key, { byteOffset: start, byteLength }) });
        if (start + byteLength === end) break;
      }
      const { dev, ino } = statSync(`/dev/shm${object.key}`, { bigint: true });
      if (`${dev}:${ino}` === object.identity) return new SystemMemory(object, offset, to, parts, partBytes / 2);
    } catch (error) {
      if (error instanceof NativeUnavailableError) throw unusable(error);
      // It was unlinked or shrunk since it was opened.
    }
    for (const { memory } of parts) memory.close();
    return undefined;
  }

  read(offset: bigint, byteLength: bigint): Uint8Array {
    const { start } = this.#check(offset, byteLength);
    // Zeroed, as the rest of an object's last page reads.
    const bytes = new Uint8Array(Number(byteLength));
    this.#object.read(bytes, start);
    return bytes;
  }

  view(offset: bigint, byteLength: bigint): Uint8Array | undefined {
    const { start, allocated } = this.#check(offset, byteLength);
    const length = Number(byteLength);
    // A page that the object lacks is made by the first look, which is a SIGBUS where /dev/shm is full.
    if (length < LEAST_IN_PLACE || !allocated) return undefined;
    // The last one that begins before it reaches furthest.
    const part = this.#parts[Math.min(Math.floor((start - Number(this.#from)) / this.#stride), this.#parts.length - 1)];
    if (part === undefined || start - part.start + length > part.memory.byteLength) return undefined;
    return new Uint8Array(part.memory.buffer, start - part.start, length);
  }

  copyOf(bytes: Uint8Array): Uint8Array | undefined {
    const at = this.#placeOf(bytes);
    return at === undefined ? undefined : this.read(BigInt(at) - this.#from, BigInt(bytes.byteLength));
  }

  write(offset: bigint, bytes: Uint8Array): void {
    const { start, size } = this.#check(offset, BigInt(bytes.byteLength));
    // The rest of the object's last page keeps nothing.
    const kept = bytes.subarray(0, Math.max(0, Number(size) - start));
    const from = this.#placeOf(kept);
    const shifted = from !== undefined && from < start && start < from + kept.byteLength;
    try {
      // The system copies page by page, so that what lies over its own source would be read after it was written.
      this.#object.write(shifted ? this.read(BigInt(from) - this.#from, BigInt(kept.byteLength)) : kept, start);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EFAULT') throw new EmulatedCrash(SHRUNK);
      if (code === 'ENOSPC') throw new EmulatedCrash('SIGBUS: /dev/shm has no room for a page of the object');
      throw error;
    }
  }

  /** Unmaps; views that a model still has get the length 0. */
  close(): void {
    for (const { memory } of this.#parts) memory.close();
    this.#object.close();
  }

  /** Where in the object a real server would read or write, and how it is at this moment. */
  #check(
    offset: bigint,
    byteLength: bigint,
  ): { readonly start: number; readonly size: bigint; readonly allocated: boolean } {
    const start = this.#from + offset;
    const end = start + byteLength;
    const { size, allocated } = this.#object.extent();
    if (byteLength > 0n && end > this.#to) throw new EmulatedCrash('SIGSEGV: a region was used beyond its mapping');
    if (byteLength > 0n && end > wholePages(size)) throw new EmulatedCrash(SHRUNK);
    return { start: Number(start), size, allocated: allocated >= size };
  }

  /** Where in the object bytes lie that are a part of its mapping. */
  #placeOf({ buffer, byteOffset, byteLength }: Uint8Array): number | undefined {
    const part = byteLength === 0 ? undefined : this.#parts.find(({ memory }) => memory.buffer === buffer);
    return part === undefined ? undefined : part.start + byteOffset;
  }
}
