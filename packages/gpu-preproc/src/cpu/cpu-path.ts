import type { Stream } from '@zerohop/cuda-native';
import { checkCrop } from '../arguments.js';
import { decodeBySharp } from '../decode/by-sharp.js';
import { containerOf } from '../decode/container.js';
import { Image } from '../image.js';
import type { PreprocessorSettings } from '../options.js';
import { layPicture, type Work } from '../picture.js';
import type { Geometry } from '../reference/geometry.js';
import { type TensorBits, tensorBits } from '../reference/tensor.js';
import { convert, type HostTensor } from './convert.js';

/** Fills blocks by the CPU. Owns the buffers for device memory that kernels don't write. */
export class CpuPath {
  readonly #settings: PreprocessorSettings;
  /** Host buffers that no run is using. */
  readonly #idle: TensorBits[] = [];
  #closed = false;

  constructor(settings: PreprocessorSettings) {
    this.#settings = settings;
  }

  /** Into host memory, once what `blockStream` has still to do with it is over. */
  async fill(work: Work, out: HostTensor, blockStream: Stream | undefined): Promise<Geometry[]> {
    if (blockStream !== undefined && !blockStream.query()) await blockStream.done();
    return this.#convert(work, () => out);
  }

  /** Into a host buffer, from which `write` takes it. */
  async upload(work: Work, write: (elements: TensorBits) => Promise<void>): Promise<Geometry[]> {
    let elements: TensorBits | undefined;
    try {
      const geometries = await this.#convert(work, () => {
        elements ??= this.#idle.pop() ?? this.#allocate();
        return { elements };
      });
      if (elements !== undefined) await write(elements);
      return geometries;
    } finally {
      if (elements !== undefined && !this.#closed) this.#idle.push(elements);
    }
  }

  /** Shared, so that worker threads can write it too. */
  #allocate(): TensorBits {
    const { datatype, batch, channels, width, height } = this.#settings.target;
    return tensorBits(datatype, batch * channels * height * width, SharedArrayBuffer);
  }

  /** One picture after the other: no more than one is decoded at a time. */
  async #convert({ sources, crop, stream }: Work, destination: () => HostTensor): Promise<Geometry[]> {
    const { recipe, target, decode } = this.#settings;
    const geometries: Geometry[] = [];
    for (const [i, source] of sources.entries()) {
      const image = source instanceof Image ? source : await decodeBySharp(containerOf(source), source, decode);
      const part = crop === undefined ? image.crop : checkCrop(crop, image);
      geometries.push(...layPicture({ ...image, crop: part }, recipe, target));
      // What fills device memory may still be on its way there; the copy goes by a stream of its own.
      if (image.kind === 'cuda') await stream?.done();
      const host = image.kind === 'host' ? image : await image.toHost();
      const out = destination();
      const count = out.elements.length / sources.length;
      await convert({ ...host, data: host.data, crop: part }, recipe, out, { first: i * count, count });
    }
    return geometries;
  }

  close(): void {
    this.#closed = true;
    this.#idle.length = 0;
  }
}
