/** Registered memory of the caller's own, outside a pool: allocated here, or adopted from whoever allocated it. */
import type { Device, DeviceMemory, IpcMemHandle } from '@zerohop/cuda-native';
import { partOf, warnOfWholeAllocation } from './adopted-part.js';
import { checkBoolean, checkedInteger, checkedMs, checkFields, checkSignal, fieldsOf } from './check.js';
import { checkRegionClient } from './check-client.js';
import type { ClientCall, ClientRegionRef, RegionClient } from './client.js';
import { outOfRange, PoolError, wrongType } from './errors.js';
import { checkGpuOptions, chooseGpu, openDevice, serverOrdinalOf } from './gpu-choice.js';
import { Holds } from './holds.js';
import { CudaMemory } from './memory/cuda-memory.js';
import type { RegionMemory } from './memory/region-memory.js';
import { SystemMemory } from './memory/system-memory.js';
import { EntryNames } from './names.js';
import { RegisteredRegion } from './region.js';
import { RegionCounters } from './region-counters.js';
import { limited, throwIfAborted, within } from './settle.js';
import { warn } from './warnings.js';

export interface AllocateRegionOptions {
  readonly kind: 'cuda' | 'system';
  /** In bytes. */
  readonly byteLength: number;
  /** The GPU that holds or reaches the region, or its ordinal here. @defaultValue the server's only GPU, else ordinal 0 */
  readonly device?: Device | number;
  /** Page-locks a `'system'` region for `device`, so that kernels reach it as `deviceMemory`. @defaultValue false */
  readonly deviceAccess?: boolean;
  /** The server's ordinal of that GPU, where it can't be settled otherwise. Only for `'cuda'`. */
  readonly serverDeviceId?: number;
  /** Ends the allocation, with nothing left behind; without effect afterwards. */
  readonly signal?: AbortSignal;
}

export interface AdoptRegionOptions {
  /** How much of the memory is meant, in bytes from its start. @defaultValue all; of a handle, to the allocation's end */
  readonly byteLength?: number;
  /** The server's ordinal of the GPU that holds the memory, where it can't be settled otherwise. */
  readonly serverDeviceId?: number;
  /** Ends the registration, with nothing left behind; without effect afterwards. */
  readonly signal?: AbortSignal;
}

const ALLOCATE_FIELDS = fieldsOf<AllocateRegionOptions>({
  kind: true,
  byteLength: true,
  device: true,
  deviceAccess: true,
  serverDeviceId: true,
  signal: true,
});
const ADOPT_FIELDS = fieldsOf<AdoptRegionOptions>({ byteLength: true, serverDeviceId: true, signal: true });
const PART_FIELDS = new Set(['byteOffset', 'byteLength']);
const RELEASE_FIELDS = new Set(['timeoutMs']);

/** Whether the server is proven to have let go of a region; if not, why. */
export type RegionRelease = { readonly proven: true } | { readonly proven: false; readonly reason: string };

/** Where a region's bytes are in this process, if they are. */
interface Views {
  readonly memory: DeviceMemory | Uint8Array | undefined;
  readonly deviceMemory: DeviceMemory | undefined;
}

/**
 * One region that the server has opened, for requests that the caller makes himself. Its memory is freed only when the
 * server is proven to have let go of it; adopted memory is never freed here.
 */
export class SharedRegion {
  readonly kind: 'cuda' | 'system';
  /** Bytes that `ref` can name. */
  readonly byteLength: number;
  readonly #region: RegisteredRegion;
  /** Where they begin in what is registered: of an adopted slice, not at 0. */
  readonly #byteOffset: number;
  readonly #views: Views;
  readonly #adopted: boolean;
  readonly #holds = new Holds(() => undefined);
  /** A request that named the region got no answer. */
  #lost = false;
  #closed = false;
  /** The memory is gone here, proven or not. */
  #freed = false;
  #releasing: Promise<RegionRelease> | undefined;

  private constructor(
    region: RegisteredRegion,
    byteOffset: number,
    byteLength: number,
    views: Views,
    adopted: boolean,
  ) {
    this.kind = region.kind;
    this.byteLength = byteLength;
    this.#region = region;
    this.#byteOffset = byteOffset;
    this.#views = views;
    this.#adopted = adopted;
  }

  /**
   * Allocates zeroed memory and registers it. Nothing is left behind when it fails or is aborted.
   * @throws PoolError ERR_SHM_…, ERR_SEVERAL_SERVERS, ERR_CUDA_UNAVAILABLE, ERR_NATIVE_UNAVAILABLE, ERR_IPC_…,
   * ERR_GPU_MISMATCH; CudaError; the client's errors;
   * `signal.reason`; TypeError, RangeError
   */
  static async allocate(client: RegionClient, options: AllocateRegionOptions): Promise<SharedRegion> {
    if (typeof options !== 'object' || options === null) throw wrongType('options', 'object', options);
    checkFields('options', options, ALLOCATE_FIELDS);
    const { kind, signal } = options;
    if (kind !== 'cuda' && kind !== 'system') throw outOfRange('kind', "'cuda' or 'system'", kind);
    if (options.byteLength === undefined) throw wrongType('byteLength', 'positive integer', options.byteLength);
    const byteLength = checkedInteger('byteLength', options.byteLength, 1, 1);
    checkSignal('signal', signal);
    checkBoolean('deviceAccess', options.deviceAccess);
    checkGpuOptions(options);
    checkRegionClient(client);
    throwIfAborted(signal);
    const entry = new EntryNames().next();
    const { memory, views } = await allocate(client, entry, { ...options, byteLength });
    const region = await open(client, memory, entry, signal);
    return new SharedRegion(region, 0, byteLength, views, false);
  }

  /**
   * Registers device memory that somebody else allocated and goes on to own: a DeviceMemory of this process (allocated
   * with `exportable: true`; a slice is registered with its allocation, and `ref` counts from its start), or the IPC
   * handle of another process, which is handed on to the server and never opened here. An IPC handle shows the server
   * the whole allocation: a warning `ZEROHOP_WHOLE_ALLOCATION` says so where that is more than was given.
   *
   * The memory must not be freed before `release()` has said `proven: true`; its content is left as it is.
   * @throws PoolError ERR_SHM_…, ERR_SEVERAL_SERVERS, ERR_CUDA_UNAVAILABLE (a server without GPU support), ERR_IPC_REFUSED,
   * ERR_GPU_MISMATCH; the client's errors; `signal.reason`; TypeError for memory that can't be exported, RangeError;
   * ERR_DISPOSED for memory that its owner closes meanwhile
   */
  static async adopt(
    client: RegionClient,
    memory: DeviceMemory | IpcMemHandle,
    options: AdoptRegionOptions = {},
  ): Promise<SharedRegion> {
    checkFields('options', options, ADOPT_FIELDS);
    checkGpuOptions(options);
    const { serverDeviceId, signal } = options;
    checkSignal('signal', signal);
    const part = partOf(memory, options.byteLength);
    checkRegionClient(client);
    throwIfAborted(signal);
    const { handle, byteLength } = part;
    const ordinal = await within(serverOrdinalOf(client, handle.deviceUuid, serverDeviceId), { signal });
    const entry = new EntryNames().next();
    const adopted = await CudaMemory.adopt(entry, part, ordinal.serverDeviceId);
    const region = await open(client, adopted, entry, signal);
    let view: DeviceMemory | undefined;
    try {
      view = part.memory?.slice(0, byteLength);
    } catch (error) {
      // Its owner has closed it meanwhile.
      await region.discard();
      throw error;
    }
    warnOfWholeAllocation(region.name, part);
    return new SharedRegion(region, handle.byteOffset, byteLength, { memory: view, deviceMemory: view }, true);
  }

  /** The name of the region at the server. */
  get name(): string {
    return this.#region.name;
  }

  /** The key in /dev/shm by which other processes open a `'system'` region; for `'cuda'` its empty marker. */
  get key(): string {
    return this.#region.key;
  }

  /**
   * The bytes: device memory for `'cuda'`, host memory for `'system'`, undefined for another process's. Borrowed until
   * `release()`.
   * @throws PoolError ERR_DISPOSED
   */
  get memory(): DeviceMemory | Uint8Array | undefined {
    this.#checkOpen();
    return this.#views.memory;
  }

  /**
   * The bytes as kernels reach them: for `'cuda'`, and for `'system'` with `deviceAccess`. Borrowed until `release()`.
   * @throws PoolError ERR_DISPOSED
   */
  get deviceMemory(): DeviceMemory | undefined {
    this.#checkOpen();
    return this.#views.deviceMemory;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * A part of the region, by default all from `byteOffset` on, as a request names it: `{ datatype, shape, ...region.ref() }`
   * for an input, `region.ref()` for an output. Tell `hold` of every such request.
   * @throws PoolError ERR_DISPOSED; TypeError, RangeError when the part does not lie inside
   */
  ref(part: { readonly byteOffset?: number; readonly byteLength?: number } = {}): ClientRegionRef {
    this.#checkOpen();
    checkFields('part', part, PART_FIELDS);
    const byteOffset = checkedInteger('byteOffset', part.byteOffset, 0, 0);
    if (byteOffset >= this.byteLength) throw outOfRange('byteOffset', `integer below ${this.byteLength}`, byteOffset);
    const rest = this.byteLength - byteOffset;
    const byteLength = checkedInteger('byteLength', part.byteLength, 1, rest);
    if (byteLength > rest) throw outOfRange('byteLength', `integer of at most ${rest}`, byteLength);
    return { region: this.name, byteOffset: this.#byteOffset + byteOffset, byteLength };
  }

  /**
   * Keeps the region registered until `work` has settled, however it settles. Give it each request, or its `call.settled`: a
   * request that timed out or was aborted may still be written by the server, and one that was lost with its connection
   * (`'lost'`) makes `release()` ask for more proof.
   * @throws PoolError ERR_DISPOSED; TypeError
   */
  hold(work: Promise<unknown>): void {
    this.#checkOpen();
    if (typeof work?.then !== 'function') throw wrongType('work', 'promise', work);
    // Of a request itself, its end for the memory is meant: it rejects with the caller's time-out, and may run on.
    const { settled = work } = work as Partial<ClientCall>;
    const seen = Promise.resolve<unknown>(settled).then((settlement) => {
      if (settlement === 'lost') this.#lost = true;
    });
    this.#holds.add(seen);
  }

  /**
   * Waits for what holds the region, unregisters it until the server no longer lists it, then frees memory that was
   * allocated here. `proven: true` means that the server is done with the memory: adopted memory may be freed from then
   * on, and not before. Memory that can't be proven free within `timeoutMs` is neither freed nor reused while the
   * process lives, unless a later call of `release()` finds the proof. The exception is a `'system'` region without an
   * unanswered request whose server cannot be reached: it is freed here, although that server, if it lives, may keep its
   * registration. Releasing twice is fine.
   * @throws TypeError, RangeError
   */
  async release(options?: { readonly timeoutMs?: number }): Promise<RegionRelease> {
    checkFields('options', options, RELEASE_FIELDS);
    const timeoutMs = checkedMs('timeoutMs', options?.timeoutMs, 0, 30_000);
    this.#closed = true;
    this.#releasing ??= this.#release(timeoutMs).then((release) => {
      // What could not be proven yet may be another time.
      if (!release.proven) this.#releasing = undefined;
      return release;
    });
    return this.#releasing;
  }

  async #release(timeoutMs: number): Promise<RegionRelease> {
    const signal = limited(timeoutMs, undefined);
    try {
      await within(this.#holds.ended(), { signal });
    } catch {
      this.#region.retire();
      return { proven: false, reason: 'work or a request that holds it did not end in time' };
    }
    const region = this.#region;
    const release = await (this.#lost ? region.releaseUnanswered(signal) : region.release(signal));
    this.#freed = release.freed;
    return release.proven ? { proven: true } : { proven: false, reason: release.reason };
  }

  /** As `release()`; memory that had to be kept becomes a warning `ZEROHOP_RETIRED`. */
  async [Symbol.asyncDispose](): Promise<void> {
    const release = await this.release();
    if (release.proven || this.#freed) return;
    const what = this.#adopted
      ? `Adopted memory of region ${this.name} must not be freed: the server may still use it`
      : `${this.byteLength} bytes of region ${this.name} were given up until the process ends`;
    warn('ZEROHOP_RETIRED', `${what}: ${release.reason}`);
  }

  /** Marks the region closed and releases it; memory that had to be kept becomes a warning `ZEROHOP_RETIRED`. */
  [Symbol.dispose](): void {
    void this[Symbol.asyncDispose]();
  }

  #checkOpen(): void {
    if (this.closed) throw new PoolError('ERR_DISPOSED', `Region ${this.name} was released`);
  }
}

/** Registers memory under an entry of its own. */
function open(
  client: RegionClient,
  memory: RegionMemory,
  entry: string,
  signal: AbortSignal | undefined,
): Promise<RegisteredRegion> {
  return RegisteredRegion.open(client, memory, entry, new RegionCounters(), signal);
}

async function allocate(
  client: RegionClient,
  entry: string,
  options: AllocateRegionOptions,
): Promise<{ memory: RegionMemory; views: Views }> {
  const { byteLength, signal } = options;
  if (options.kind === 'cuda') {
    const { device, serverDeviceId } = await within(chooseGpu(client, options), { signal });
    const memory = await CudaMemory.allocate(entry, byteLength, device, serverDeviceId);
    const view = memory.view(0, byteLength);
    return { memory, views: { memory: view, deviceMemory: view } };
  }
  const device = options.deviceAccess ? await within(openDevice(options.device), { signal }) : undefined;
  const memory = await SystemMemory.allocate(entry, byteLength, { device });
  const views = { memory: memory.view(0, byteLength), deviceMemory: memory.deviceView(0, byteLength) };
  return { memory, views };
}
