import type { Device, DeviceMemory, Stream } from '@zerohop/cuda-native';
import { internal, invalid } from '../status.js';
import type { RegionMemory } from './memory.js';
import { native } from './native.js';

const HANDLE_BYTES = 64;

/** What a handle leads to, seen by copies on a stream of its own. */
class IpcMemory implements RegionMemory {
  readonly #memory: DeviceMemory;
  readonly #stream: Stream;

  constructor(memory: DeviceMemory, stream: Stream) {
    this.#memory = memory;
    this.#stream = stream;
  }

  async read(offset: bigint, byteLength: bigint): Promise<Uint8Array> {
    const slice = this.#slice(offset, byteLength);
    const bytes = new Uint8Array(Number(byteLength));
    if (slice !== undefined) await this.#stream.copyToHost(bytes, slice);
    return bytes;
  }

  view(): undefined {
    // What is on a GPU can't be seen from here.
  }

  copyOf(): undefined {
    // Nothing is a view of it.
  }

  async write(offset: bigint, bytes: Uint8Array): Promise<void> {
    const slice = this.#slice(offset, BigInt(bytes.byteLength));
    if (slice !== undefined) await this.#stream.copyToDevice(slice, bytes);
  }

  async close(): Promise<void> {
    await this.#stream.close();
    await this.#memory.close();
  }

  #slice(offset: bigint, byteLength: bigint): DeviceMemory | undefined {
    if (byteLength === 0n) return undefined;
    if (offset + byteLength > BigInt(this.#memory.byteLength))
      throw internal('failed to use CUDA copy : invalid argument');
    return this.#memory.slice(Number(offset), Number(byteLength));
  }
}

/** Opens what clients register as CUDA shared memory. */
export class DeviceOpener {
  /** What cudaSetDevice has left: the server doesn't look whether it worked. */
  #ordinal = 0;

  /**
   * cudaIpcOpenMemHandle and the check of the size (shared_memory_manager.cc): who has no driver, and whose handle is of this
   * process itself, of another device, malformed or too short, reads the same.
   *
   * @throws ServerError
   */
  async open(name: string, rawHandle: Uint8Array, deviceId: bigint, byteSize: bigint): Promise<RegionMemory> {
    const refused = () => invalid('failed to register shared memory region: invalid args');
    const { Device } = await native();
    let device: Device;
    try {
      const wanted = Number(BigInt.asIntN(32, deviceId));
      if (wanted >= 0 && wanted < Device.count()) this.#ordinal = wanted;
      device = await Device.open(this.#ordinal);
    } catch {
      throw refused();
    }
    // Over gRPC a real server takes any length, and reads 64 bytes.
    if (rawHandle.byteLength < HANDLE_BYTES) throw refused();
    const open = (allocationByteLength: number) =>
      device.openIpc({
        rawHandle: rawHandle.slice(0, HANDLE_BYTES),
        byteOffset: 0,
        allocationByteLength,
        deviceUuid: device.uuid,
      });
    try {
      return new IpcMemory(await open(Math.max(1, Number(byteSize))), device.createStream());
    } catch {
      // Either the handle is bad, or there is less behind it.
    }
    let opened: DeviceMemory;
    try {
      opened = await open(1);
    } catch {
      throw refused();
    }
    await opened.close();
    throw invalid(`failed to register shared memory region '${name}': invalid args`);
  }
}
