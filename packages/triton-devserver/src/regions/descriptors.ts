import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';

/** An object of POSIX shared memory as this process has it open. */
export interface OpenObject {
  /** What `SharedMemory.open` takes: one slash and the file's name. */
  readonly key: string;
  /** Its size in bytes at this moment, and of how many of them it has pages. Blocks for a system call. */
  extent(): { readonly size: bigint; readonly allocated: bigint };
  /** As pread(2): fills `bytes` from `at` on, and leaves what lies behind the object's end. */
  read(bytes: Uint8Array, at: number): void;
  /** As pwrite(2). @throws Error of the system: EFAULT for bytes whose memory is gone, ENOSPC without room for a page */
  write(bytes: Uint8Array, at: number): void;
  /** Distinguishes the object from another one that has its name by now. */
  readonly identity: string;
  close(): void;
}

/**
 * shm_open(3) with O_RDWR, as the server calls it: any number of leading slashes, none too, and all after a NUL is lost.
 * undefined: there is no such object, or it may not be opened. Blocks for two system calls.
 */
export function openObject(key: string): OpenObject | undefined {
  const name = (key.split('\0')[0] ?? '').replace(/^\/+/, '');
  if (name === '' || name.includes('/') || Buffer.byteLength(name) > 254) return undefined;
  let fd: number;
  try {
    fd = openSync(`/dev/shm/${name}`, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return {
    key: `/${name}`,
    extent: () => {
      const { size, blocks } = fstatSync(fd, { bigint: true });
      return { size, allocated: blocks * BLOCK };
    },
    read: (bytes, at) => all(bytes.byteLength, (from) => readSync(fd, bytes, from, pieceOf(bytes, from), at + from)),
    write: (bytes, at) => all(bytes.byteLength, (from) => writeSync(fd, bytes, from, pieceOf(bytes, from), at + from)),
    identity: `${dev}:${ino}`,
    close: () => closeSync(fd),
  };
}

/** What stat(2) counts in. */
const BLOCK = 512n;
/** Linux moves no more in one call than a page less than 2 GiB. */
const LARGEST_PIECE = 2 ** 30;

const pieceOf = (bytes: Uint8Array, from: number) => Math.min(LARGEST_PIECE, bytes.byteLength - from);

/** Until all is moved, or nothing more is. */
function all(byteLength: number, move: (from: number) => number): void {
  for (let from = 0; from < byteLength; ) {
    const moved = move(from);
    if (moved === 0) return;
    from += moved;
  }
}

/**
 * The numbers that a real server's descriptors would have, lowest free one first. It keeps a region's number after it has
 * closed the descriptor, and takes it for the object when the same key comes again (seen on 2.51 and 2.48);
 * what its connections open meanwhile is not imitated.
 */
export class Descriptors {
  readonly #open: (OpenObject | undefined)[] = [];

  /** The number for an object that was just opened. */
  add(object: OpenObject): number {
    const free = this.#open.indexOf(undefined);
    const number = free === -1 ? this.#open.length : free;
    this.#open[number] = object;
    return number;
  }

  /** What the number stands for now; undefined when it is closed. */
  get(number: number): OpenObject | undefined {
    return this.#open[number];
  }

  /** Frees the number; the object stays open for whoever keeps it. */
  remove(number: number): void {
    this.#open[number] = undefined;
  }

  /** Closes all that was leaked. */
  clear(): void {
    for (const object of this.#open) object?.close();
    this.#open.length = 0;
  }
}
