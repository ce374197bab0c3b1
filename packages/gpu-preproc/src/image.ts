import type { DeviceMemory } from '@zerohop/cuda-native';
import { checkFields, fieldsOf, outOfRange, wrongType } from './arguments.js';
import { PreprocError } from './errors.js';
import { checkExtent, checkPixelLayout, extent } from './pixel-layout.js';
import { type PixelFormat, traitsOf } from './reference/formats.js';
import type { Crop } from './reference/geometry.js';
import type { Pixels } from './reference/pixels.js';

/** Which decoder made a picture. */
export type Decoder = 'sharp' | 'nvjpeg';

/** What an {@link Image} is made of: its shape, and memory of the host or of a device. */
export type ImageParts = Omit<Pixels, 'data'> & { readonly memory: Uint8Array | DeviceMemory };

/**
 * A picture in host memory or in memory of a GPU. Comes from {@link decodeImage}, which gives it memory of its own, or
 * from {@link imageFrom}, which borrows the caller's. `close()`, or `using`, lets go of it; closing twice is fine.
 */
export class Image {
  /** Size in pixels. */
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Distance in bytes from the start of one row to the start of the next. */
  readonly pitch: number;
  /** Distance in bytes from plane to plane, of `NV12` to the chroma. */
  readonly planePitch: number;
  /** The part that is used. */
  readonly crop: Crop;
  /** How `NV12` is read. */
  readonly matrix: 'bt601' | 'bt709' | 'bt2020';
  readonly range: 'limited' | 'full';
  /** Which decoder made it; undefined for borrowed memory. */
  readonly decoder: Decoder | undefined;
  /** Where the pixels are. */
  readonly kind: 'host' | 'cuda';
  #memory: Uint8Array | DeviceMemory | undefined;
  readonly #owns: boolean;

  /** @internal Checked arguments only. Of device memory, an image that `decoder` made is the owner. */
  constructor(parts: ImageParts, decoder?: Decoder) {
    this.width = parts.width;
    this.height = parts.height;
    this.format = parts.format;
    this.pitch = parts.pitch;
    this.planePitch = parts.planePitch ?? parts.pitch * parts.height;
    this.crop = parts.crop ?? { x: 0, y: 0, width: parts.width, height: parts.height };
    this.matrix = parts.matrix ?? (parts.height >= 720 ? 'bt709' : 'bt601');
    this.range = parts.range ?? 'limited';
    this.decoder = decoder;
    this.kind = parts.memory instanceof Uint8Array ? 'host' : 'cuda';
    this.#memory = parts.memory;
    this.#owns = decoder !== undefined;
  }

  /**
   * The bytes, from the first pixel on.
   * @throws PreprocError ERR_DISPOSED
   * @throws TypeError when a borrowed buffer was detached (sent to another thread) or made too small since
   */
  get memory(): Uint8Array | DeviceMemory {
    const memory = this.#memory;
    if (memory === undefined) throw new PreprocError('ERR_DISPOSED', 'The image is closed');
    // A view of such a buffer reads as nothing, and would become a picture of whatever that is taken for.
    if (memory instanceof Uint8Array && memory.byteLength < extent(this)) {
      throw new TypeError("The image's buffer was detached, by a transfer to another thread, or resized");
    }
    return memory;
  }

  /** The bytes of a picture in host memory, from the first pixel on. @throws as `memory`; TypeError for device memory */
  get data(): Uint8Array {
    const { memory } = this;
    if (memory instanceof Uint8Array) return memory;
    throw new TypeError('Expected an image in host memory but this one is in device memory: use toHost()');
  }

  get closed(): boolean {
    return this.#memory === undefined;
  }

  /** The same picture in host memory of its own, the crop included; to be closed by the caller. @throws PreprocError; CudaError */
  async toHost(): Promise<Image> {
    const { memory } = this;
    const data = memory instanceof Uint8Array ? memory.slice() : await download(memory);
    return new Image({ ...this, memory: data }, this.decoder);
  }

  /** Lets go of the pixels; device memory of its own is freed once nothing enqueued uses it. */
  async close(): Promise<void> {
    await this.#letGo()?.close();
  }

  [Symbol.dispose](): void {
    this.#letGo()?.[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The device memory that is to be freed, if any. */
  #letGo(): DeviceMemory | undefined {
    const memory = this.#memory;
    this.#memory = undefined;
    return this.#owns && !(memory instanceof Uint8Array) ? memory : undefined;
  }
}

async function download(memory: DeviceMemory): Promise<Uint8Array> {
  const data = new Uint8Array(memory.byteLength);
  const stream = memory.device.createStream();
  try {
    await stream.copyToHost(data, memory);
    await stream.done();
  } finally {
    await stream.close();
  }
  return data;
}

/** How the bytes given to {@link imageFrom} are to be read. */
export interface ImageOptions {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Bytes from row to row; even for 16-bit samples. @defaultValue `width` times the bytes of a pixel */
  readonly pitch?: number;
  /** Bytes from plane to plane, of `NV12` to the chroma. @defaultValue `pitch · height` */
  readonly planePitch?: number;
  /** The part that is used. Boxes come back in pixels of the whole picture. @defaultValue the whole picture */
  readonly crop?: Crop;
  /** How `NV12` is read. @defaultValue 'bt709' from 720 rows on, else 'bt601' */
  readonly matrix?: 'bt601' | 'bt709' | 'bt2020';
  /** How `NV12` is read. @defaultValue 'limited' */
  readonly range?: 'limited' | 'full';
}

const OPTIONS = fieldsOf<ImageOptions>({
  width: true,
  height: true,
  format: true,
  pitch: true,
  planePitch: true,
  crop: true,
  matrix: true,
  range: true,
});

/** What {@link imageFrom} takes; a view of a `PinnedMemory`'s buffer is copied to a GPU without a detour. */
export type ImageMemory = Uint8Array | Uint8ClampedArray | ArrayBufferLike | DeviceMemory;

/**
 * Takes memory for a picture, without a copy: the memory stays the caller's and must not change while a call reads it.
 * Alpha is dropped, not blended.
 *
 * Host memory: 16-bit samples at an odd address are copied by each call that reads them. Device memory: a `run` reads it
 * on the stream that it works on, so what fills it has to be over, or enqueued on that stream before; kernels read whole
 * words of 4 bytes, so memory that is not an allocation's end must not end within one.
 * @throws TypeError, RangeError for a wrong argument, an NV12 picture with odd sides, a mosaic with fewer than 3 rows or
 * columns, 16-bit samples at an odd address of a device, or memory too short for the size and pitch
 */
export function imageFrom(memory: ImageMemory, options: ImageOptions): Image {
  checkFields('options', options, OPTIONS);
  const layout = checkPixelLayout(options);
  const { format } = layout;
  const bytes = isDeviceMemory(memory) ? memory : asBytes(memory);
  checkExtent(layout, bytes);
  if (!(bytes instanceof Uint8Array) && traitsOf(format).max > 255 && bytes.address % 2n !== 0n) {
    throw outOfRange(`even number for ${format}`, 'memory.address', bytes.address);
  }
  return new Image({ ...layout, memory: bytes });
}

/** By its shape: an application may have two copies of the class. */
function isDeviceMemory(memory: unknown): memory is DeviceMemory {
  return typeof memory === 'object' && memory !== null && 'exportIpc' in memory && 'address' in memory;
}

function asBytes(memory: unknown): Uint8Array {
  if (memory instanceof Uint8Array || memory instanceof Uint8ClampedArray) {
    // A plain Uint8Array even for a Buffer: the loops that read pixels then see one kind of array only.
    return new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength);
  }
  if (memory instanceof ArrayBuffer || memory instanceof SharedArrayBuffer) return new Uint8Array(memory);
  throw wrongType('Uint8Array, Uint8ClampedArray, ArrayBuffer, SharedArrayBuffer or DeviceMemory', 'memory', memory);
}
