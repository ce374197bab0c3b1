import { AbandonedName } from './abandoned-name.js';
import { binding, type RegionHandle } from './binding.js';
import { checkInteger, checkNonNegativeInteger, checkOptions, checkPositiveInteger, invalid } from './check.js';
import { BusyError, DisposedError } from './errors.js';

/** What a creator may choose. */
export interface SharedMemoryCreateOptions {
  /**
   * The file's permission bits; the umask does not apply.
   *
   * @defaultValue `0o600`
   */
  readonly mode?: number;
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

/** `/` and up to 254 bytes without a further `/`: what shm_open(3) takes on Linux, and what Triton registers. */
function checkKey(key: unknown): asserts key is string {
  const expected = 'string of "/" and a file name of at most 254 bytes';
  if (typeof key !== 'string') throw invalid('key', expected, key);
  const name = key.slice(1);
  const valid = key.startsWith('/') && name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
  if (!valid || Buffer.byteLength(key) > 255) throw invalid('key', expected, key, RangeError);
}

const owners = new WeakMap<ArrayBuffer, SharedMemory>();

/** The region behind a buffer. The map also keeps the region alive for as long as its buffer is. */
export function sharedMemoryOf(buffer: ArrayBufferLike): SharedMemory | undefined {
  return buffer instanceof ArrayBuffer ? owners.get(buffer) : undefined;
}

let makeHolds: (memory: SharedMemory) => () => void;

/** Keeps a region mapped until the returned function is called. */
export function holdSharedMemory(memory: SharedMemory): () => void {
  return makeHolds(memory);
}

/**
 * A named region of POSIX shared memory (an entry in `/dev/shm`), mapped into this process.
 *
 * The creator owns the name: it holds an exclusive `flock` on the entry from before the name appears until after it
 * is gone, so that anybody can tell a live region from one whose process died ({@link SharedMemory.tryRemove}). The
 * name is removed by `unlink()`, by `close()`, and when the process or the worker thread ends; after a kill it stays,
 * unlocked.
 */
export class SharedMemory {
  /** The region's name, with its leading slash: the `key` that Triton registers. */
  readonly key: string;
  /** Size of the mapping in bytes. */
  readonly byteLength: number;
  readonly #handle: RegionHandle;
  readonly #buffer: ArrayBuffer;
  #holds = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';

  static {
    makeHolds = (memory) => {
      memory.#holds += 1;
      return () => {
        memory.#holds -= 1;
        if (memory.#holds === 0 && memory.#state === 'closing') memory.#release();
      };
    };
  }

  private constructor(key: string, handle: RegionHandle, buffer: ArrayBuffer) {
    this.key = key;
    this.byteLength = buffer.byteLength;
    this.#handle = handle;
    this.#buffer = buffer;
    owners.set(buffer, this);
  }

  /**
   * Makes a region of `byteLength` zeroed bytes and maps it. All its pages are reserved before the promise resolves,
   * so a full `/dev/shm` is an error here and never a SIGBUS later; this takes about 0.4 s per GiB, off the JS thread.
   * With 0 bytes only the locked entry is made: a marker.
   *
   * @param key `/` and a file name; it must not exist.
   * @throws TypeError | RangeError for wrong arguments.
   * @throws SharedMemoryError `ERR_SHM_FULL` when `/dev/shm` has no room, `ERR_SHM_EXISTS` when the key is taken,
   * `ERR_SHM_SYSTEM` otherwise.
   * @throws NativeUnavailableError
   */
  static async create(key: string, byteLength: number, options: SharedMemoryCreateOptions = {}): Promise<SharedMemory> {
    checkKey(key);
    checkNonNegativeInteger('byteLength', byteLength);
    checkOptions(options);
    const { mode = 0o600 } = options;
    checkInteger('mode', mode, 0, 0o777);
    const { handle, buffer } = await binding().shmCreate(key, byteLength, mode);
    return new SharedMemory(key, handle, buffer);
  }

  /**
   * Maps an existing region, or a part of it. The opener owns neither name nor lock: closing it only unmaps.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws SharedMemoryError `ERR_SHM_NOT_FOUND`, `ERR_SHM_RANGE` when the region is smaller than asked for,
   * `ERR_SHM_SYSTEM` otherwise.
   * @throws NativeUnavailableError
   */
  static async open(key: string, options: SharedMemoryOpenOptions = {}): Promise<SharedMemory> {
    checkKey(key);
    checkOptions(options);
    const { byteOffset = 0, byteLength } = options;
    checkNonNegativeInteger('byteOffset', byteOffset);
    if (byteLength !== undefined) checkPositiveInteger('byteLength', byteLength);
    const { handle, buffer } = await binding().shmOpen(key, byteOffset, byteLength);
    return new SharedMemory(key, handle, buffer);
  }

  /**
   * Removes a name whose creator is gone, and only then: `'locked'` means that its creator (this process included)
   * lives. Never waits.
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
   * Locks a name whose creator is gone, and only then, so that something can be done before the name goes: as with
   * `tryRemove`, `'locked'` means that its creator, or somebody who called this, lives. Never waits.
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
   * The region's memory: always the same ArrayBuffer, valid until `close()`, which detaches it (views then have length
   * 0). It can't be shared with a worker by postMessage; open the key there.
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

  /** Removes the name, if this is the creator and it is still there. The memory stays usable by all who mapped it. */
  unlink(): void {
    if (this.#state === 'open') binding().shmUnlink(this.#handle);
  }

  /**
   * Removes the name if this is the creator, detaches the buffer, unmaps, and gives up the lock, in this order.
   * Closing twice is fine.
   *
   * @throws BusyError `ERR_BUSY` while a copy between this memory and a device is running.
   */
  close(): void {
    if (this.#state !== 'open') return;
    if (this.#holds > 0) throw new BusyError(`SharedMemory ${this.key} is in use by a running copy`);
    this.#release();
  }

  /** Like `close()`, but waits for a running copy instead of throwing. */
  [Symbol.dispose](): void {
    if (this.#state !== 'open') return;
    if (this.#holds > 0) this.#state = 'closing';
    else this.#release();
  }

  #release(): void {
    this.#state = 'closed';
    binding().shmClose(this.#handle, this.#buffer);
  }
}
