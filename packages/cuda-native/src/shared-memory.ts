import { AbandonedName } from './abandoned-name.js';
import { ABI, identify, partsOf } from './abi.js';
import {
  checkBufferLength,
  checkInteger,
  checkNonNegativeInteger,
  checkOptions,
  checkPositiveInteger,
  checkRange,
  invalid,
} from './check.js';
import { BusyError, DisposedError } from './errors.js';
import { watchLeak } from './leaks.js';
import type { RegionHandle } from './native/handles.js';
import { binding } from './native/load.js';
import type { SharedMemoryCreateOptions, SharedMemoryOpenOptions } from './shared-memory-options.js';

/** `/` and up to 254 bytes without a further `/`: what shm_open(3) takes on Linux, and what Triton registers. */
function checkKey(key: unknown): asserts key is string {
  const expected = 'string of "/" and a file name of at most 254 bytes';
  if (typeof key !== 'string') throw invalid('key', expected, key);
  const name = key.slice(1);
  const valid = key.startsWith('/') && name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
  if (!valid || Buffer.byteLength(key) > 255) throw invalid('key', expected, key, RangeError);
}

const MAP_PART = 'map a part, by byteOffset and byteLength';

/** Which part of a new region is to be mapped. */
function checkMap(map: unknown, byteLength: number): { byteOffset: number; mapped: number } {
  if (map === undefined) {
    checkBufferLength(byteLength, MAP_PART);
    return { byteOffset: 0, mapped: byteLength };
  }
  if (typeof map !== 'object' || map === null) throw invalid('map', 'object', map);
  const { byteOffset = 0, byteLength: asked } = map as SharedMemoryOpenOptions;
  checkNonNegativeInteger('byteOffset', byteOffset);
  if (byteOffset >= byteLength) throw invalid('byteOffset', `integer below ${byteLength}`, byteOffset, RangeError);
  const mapped = asked ?? byteLength - byteOffset;
  checkRange(byteOffset, mapped, byteLength);
  checkBufferLength(mapped, MAP_PART);
  return { byteOffset, mapped };
}

/** A SharedMemory as copies and registrations need it. */
export interface SharedMemoryParts {
  readonly handle: RegionHandle;
  readonly buffer: ArrayBuffer;
  /** Keeps the region mapped until the returned function is called; `moved` is told of a buffer that takes this one's place. */
  hold(moved?: (buffer: ArrayBuffer) => void): () => void;
}

/** The region behind each buffer, for all copies of this package with the same ABI. */
const OWNERS = Symbol.for(`@zerohop/cuda-native/shared/${ABI}`);
const shared = globalThis as { [OWNERS]?: WeakMap<ArrayBufferLike, SharedMemory> };
shared[OWNERS] ??= new WeakMap();
const owners = shared[OWNERS];

/** The region behind a buffer. The map also keeps the region alive for as long as its buffer is. */
export function sharedMemoryOf(buffer: ArrayBufferLike): SharedMemoryParts | undefined {
  const memory = owners.get(buffer);
  return memory === undefined ? undefined : sharedMemoryParts('buffer', memory);
}

/** Keeps the region behind a buffer, if there is one, mapped until the returned function is called. */
export function holdSharedMemory(buffer: ArrayBufferLike): (() => void) | undefined {
  return sharedMemoryOf(buffer)?.hold();
}

/**
 * What is inside a SharedMemory.
 *
 * @throws TypeError when it is something else.
 * @throws DisposedError
 */
export function sharedMemoryParts(name: string, memory: unknown): SharedMemoryParts {
  return partsOf(name, 'SharedMemory', memory);
}

/**
 * A named region of POSIX shared memory (an entry in `/dev/shm`), mapped into this process.
 *
 * The creator owns the name: it holds an exclusive `flock` on the entry from before the name appears until after it
 * is gone, so that anybody can tell a live region from one whose process died ({@link SharedMemory.tryRemove}). The
 * name is removed by `unlink()`, by `close()`, and when the process or the worker thread ends (without `keepName`), unless
 * it is another file's by then; after a kill it stays, unlocked.
 */
export class SharedMemory {
  /** The region's name, with its leading slash: the `key` that Triton registers. */
  readonly key: string;
  /** Size of the mapping in bytes. */
  readonly byteLength: number;
  readonly #handle: RegionHandle;
  readonly #unwatch: () => void;
  /** Who is told of a new buffer. */
  readonly #followers = new Set<(buffer: ArrayBuffer) => void>();
  #buffer: ArrayBuffer;
  #holds = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';

  static {
    identify(SharedMemory, 'SharedMemory', (memory: SharedMemory): SharedMemoryParts => {
      if (memory.#state !== 'open') throw new DisposedError('SharedMemory');
      return { handle: memory.#handle, buffer: memory.#buffer, hold: (moved) => memory.#hold(moved) };
    });
  }

  private constructor(key: string, handle: RegionHandle, buffer: ArrayBuffer) {
    this.key = key;
    this.byteLength = buffer.byteLength;
    this.#handle = handle;
    this.#buffer = buffer;
    this.#unwatch = watchLeak(this, 'SharedMemory', `The SharedMemory ${key}`);
    owners.set(buffer, this);
  }

  /**
   * Makes a region of `byteLength` zeroed bytes and maps it. All its pages are reserved before the promise resolves,
   * so a full `/dev/shm` is an error here and never a SIGBUS later; this takes about 0.4 s per GiB, off the JS thread.
   * The name appears last, and a process killed before leaves nothing; where the system can't name a file later
   * (gVisor, no `/proc`), it appears first. With 0 bytes only the locked entry is made: a marker.
   *
   * @param key `/` and a file name; it must not exist.
   * @throws TypeError | RangeError for wrong arguments; `ERR_BUFFER_TOO_LARGE` for more than an ArrayBuffer can show, see
   * `options.map`.
   * @throws SharedMemoryError `ERR_SHM_FULL` when `/dev/shm` has no room, `ERR_SHM_EXISTS` when the key is taken,
   * `ERR_SHM_SYSTEM` otherwise.
   * @throws NativeUnavailableError
   */
  static async create(key: string, byteLength: number, options: SharedMemoryCreateOptions = {}): Promise<SharedMemory> {
    checkKey(key);
    checkNonNegativeInteger('byteLength', byteLength);
    checkOptions(options);
    const { mode = 0o600, map, keepName = false } = options;
    if (typeof keepName !== 'boolean') throw invalid('keepName', 'boolean', keepName);
    checkInteger('mode', mode, 0, 0o777);
    const { byteOffset, mapped } = checkMap(map, byteLength);
    const { handle, buffer } = await binding().shmCreate(key, byteLength, mode, byteOffset, mapped);
    if (keepName) binding().shmKeepName(handle);
    return new SharedMemory(key, handle, buffer);
  }

  /**
   * Maps an existing region, or a part of it. The opener owns neither name nor lock: closing it only unmaps. Open a region
   * when its `create` has resolved, before which it is not there or has no bytes, and only of peers you trust: one whose
   * maker did not reserve its pages, or shrinks it, ends the process with SIGBUS.
   *
   * @throws TypeError | RangeError for wrong arguments; `ERR_BUFFER_TOO_LARGE` for more than an ArrayBuffer can show.
   * @throws SharedMemoryError `ERR_SHM_NOT_FOUND`, `ERR_SHM_RANGE` when the region is smaller than asked for,
   * `ERR_SHM_SYSTEM` otherwise.
   * @throws NativeUnavailableError
   */
  static async open(key: string, options: SharedMemoryOpenOptions = {}): Promise<SharedMemory> {
    checkKey(key);
    checkOptions(options);
    const { byteOffset = 0, byteLength } = options;
    checkNonNegativeInteger('byteOffset', byteOffset);
    if (byteLength !== undefined) {
      checkPositiveInteger('byteLength', byteLength);
      checkBufferLength(byteLength, MAP_PART);
    }
    const { handle, buffer } = await binding().shmOpen(key, byteOffset, byteLength);
    return new SharedMemory(key, handle, buffer);
  }

  /**
   * Removes a name whose creator is gone: `'locked'` means that its creator (this process included) lives. Only for
   * keys that this package made: other programs take no lock, so their live regions look abandoned. Never waits.
   *
   * @throws SharedMemoryError `ERR_SHM_SYSTEM`, such as EACCES for another user's region.
   * @throws NativeUnavailableError
   */
  static tryRemove(key: string): 'removed' | 'locked' | 'absent' {
    const found = SharedMemory.tryLock(key);
    if (typeof found === 'string') return found;
    try {
      found.remove();
      return 'removed';
    } finally {
      found.close();
    }
  }

  /**
   * Locks a name whose creator is gone, so that something can be done before the name goes: as with `tryRemove`,
   * `'locked'` means that its creator, or somebody who called this, lives. Only for keys that this package made. Never
   * waits.
   *
   * @throws SharedMemoryError `ERR_SHM_SYSTEM`, such as EACCES for another user's region.
   * @throws NativeUnavailableError
   */
  static tryLock(key: string): AbandonedName | 'locked' | 'absent' {
    checkKey(key);
    const found = binding().shmTryLock(key);
    return typeof found === 'string' ? found : new AbandonedName(key, found);
  }

  /**
   * Free bytes in `/dev/shm` at this moment; Infinity when it is mounted without a limit. Does not block.
   *
   * @throws SharedMemoryError `ERR_SHM_SYSTEM` when there is no `/dev/shm`.
   * @throws NativeUnavailableError
   */
  static freeBytes(): number {
    return binding().shmFreeBytes();
  }

  /**
   * The region's memory: always the same ArrayBuffer, valid until `close()` or `renew()`, which detach it (views then have
   * length 0). It can't be shared with a worker by postMessage; open the key there.
   *
   * @throws DisposedError
   */
  get buffer(): ArrayBuffer {
    if (this.#state !== 'open') throw new DisposedError('SharedMemory');
    return this.#buffer;
  }

  get closed(): boolean {
    return this.#state !== 'open';
  }

  /**
   * Ends every view of the memory that was given out: detaches the buffer (its views then have length 0) and gives another
   * one over the same bytes, which stay where they are. For who lends the memory and wants it back for certain. A copy
   * that runs goes on, one that has not begun is refused, and a registration with a device holds for the new buffer. A
   * buffer that was moved by `transfer()` is beyond reach. Does not block: about 10 us.
   *
   * @throws DisposedError
   */
  renew(): ArrayBuffer {
    if (this.#state !== 'open') throw new DisposedError('SharedMemory');
    const fresh = binding().shmRenew(this.#handle, this.#buffer);
    owners.delete(this.#buffer);
    owners.set(fresh, this);
    this.#buffer = fresh;
    for (const moved of this.#followers) moved(fresh);
    return fresh;
  }

  /** Removes the name, if this is the creator and it is still this region's. The memory stays usable by all who mapped it. */
  unlink(): void {
    if (this.#state === 'open') binding().shmUnlink(this.#handle);
  }

  /**
   * Removes the name if this is the creator, detaches the buffer, unmaps, and gives up the lock, in this order; a large
   * mapping goes off the JS thread, a moment later. Await what Node's own threads do with its views first (fs, zlib,
   * crypto): they don't notice that the memory goes. Closing twice is fine.
   *
   * @throws BusyError `ERR_BUSY` while a copy between this memory and a device is running, or it is registered with one.
   */
  close(): void {
    if (this.#state !== 'open') return;
    if (this.#holds > 0)
      throw new BusyError(`SharedMemory '${this.key}' is in use by a running copy, or registered with a device`);
    this.#release();
  }

  /** Like `close()`, but waits for a running copy, or the end of a registration, instead of throwing. */
  [Symbol.dispose](): void {
    if (this.#state !== 'open') return;
    if (this.#holds > 0) this.#state = 'closing';
    else this.#release();
  }

  #hold(moved?: (buffer: ArrayBuffer) => void): () => void {
    this.#holds += 1;
    if (moved !== undefined) this.#followers.add(moved);
    return () => {
      this.#holds -= 1;
      if (moved !== undefined) this.#followers.delete(moved);
      if (this.#holds === 0 && this.#state === 'closing') this.#release();
    };
  }

  #release(): void {
    this.#state = 'closed';
    this.#unwatch();
    binding().shmClose(this.#handle, this.#buffer);
  }
}
