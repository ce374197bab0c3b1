import type { Device, Stream } from '@zerohop/cuda-native';
import { Buffers } from './buffers.js';
import { closeAll } from './close-all.js';
import { Decoders } from './decoders.js';
import { ImageKernels } from './image-kernels.js';
import type { Orienter } from './orienter.js';

/** More are not kept for later: a server may have had a thousand runs at once, once. */
const MOST_IDLE_STREAMS = 32;

/** How long what single calls of `decodeImage` used is kept for the next one. */
const LINGER_MS = 2000;

/**
 * What all preprocessors of a process have in common on one device: kernels, decoders, buffers and streams. Who uses it
 * holds it; it is closed when nobody does.
 */
export class DeviceResources {
  readonly device: Device;
  readonly buffers: Buffers;
  readonly decoders: Decoders;
  #kernels: Promise<ImageKernels> | undefined;
  #orienter: Promise<Orienter> | undefined;
  readonly #streams: Stream[] = [];
  #holders = 0;

  private constructor(device: Device) {
    this.device = device;
    this.buffers = new Buffers(device);
    this.decoders = new Decoders(device);
  }

  static readonly #open = new Map<Device, DeviceResources>();

  /** Those of a device, to be released. Does not block. */
  static hold(device: Device): DeviceResources {
    const resources = DeviceResources.#open.get(device) ?? new DeviceResources(device);
    DeviceResources.#open.set(device, resources);
    resources.#holders++;
    return resources;
  }

  /** The kernels, loaded once, off the JS thread. @throws CudaError when the driver refuses them */
  kernels(): Promise<ImageKernels> {
    this.#kernels ??= ImageKernels.open(this.device).catch((error: unknown) => {
      this.#kernels = undefined;
      throw error;
    });
    return this.#kernels;
  }

  /** Turns pictures upright. @throws CudaError */
  orienter(): Promise<Orienter> {
    this.#orienter ??= this.kernels()
      .then((kernels) => kernels.orienter())
      .catch((error: unknown) => {
        this.#orienter = undefined;
        throw error;
      });
    return this.#orienter;
  }

  /** A stream for work that brings none; `give` it back when that work is over. */
  takeStream(): Stream {
    return this.#streams.pop() ?? this.device.createStream();
  }

  giveStream(stream: Stream): void {
    if (this.#streams.length < MOST_IDLE_STREAMS) this.#streams.push(stream);
    else stream[Symbol.dispose]();
  }

  /** As `release`, in a while; keeps no process alive and reports no failure. */
  releaseSoon(): void {
    const release = () => void this.release().catch((error: Error) => process.emitWarning(error));
    setTimeout(release, LINGER_MS).unref();
  }

  /** The last to release closes everything; nothing of it may be in use. @throws CudaError, JpegError; then too all is closed */
  async release(): Promise<void> {
    this.#holders--;
    if (this.#holders > 0) return;
    DeviceResources.#open.delete(this.device);
    const kernels = await this.#kernels?.catch(() => undefined);
    await closeAll([this.decoders, ...this.#streams.splice(0), this.buffers, kernels]);
  }
}
