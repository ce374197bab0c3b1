import { availableParallelism } from 'node:os';
import type { Device } from '@zerohop/cuda-native';
import { JpegDecoder, NvjpegUnavailableError } from '@zerohop/cuda-native/nvjpeg';

/** One JPEG's Huffman codes keep one thread busy, and each decoder has working memory on the device. */
const MOST = Math.min(8, Math.max(2, availableParallelism()));

/** nvJPEG's decoders on one device, as many as decode at once, up to a limit. Owns them all. */
export class Decoders {
  readonly #device: Device;
  readonly #all = new Set<Promise<JpegDecoder>>();
  readonly #idle: JpegDecoder[] = [];
  /** Those who wait for one to become free. */
  readonly #waiting: (() => void)[] = [];
  #unavailable: NvjpegUnavailableError | undefined;

  constructor(device: Device) {
    this.#device = device;
  }

  /** Runs `use` with a decoder that nobody else uses; undefined where there is no nvJPEG. @throws CudaError, JpegError */
  async with<T>(use: (decoder: JpegDecoder) => Promise<T>): Promise<T | undefined> {
    const decoder = await this.#take();
    if (decoder === undefined) return undefined;
    try {
      return await use(decoder);
    } finally {
      this.#idle.push(decoder);
      this.#waiting.shift()?.();
    }
  }

  async #take(): Promise<JpegDecoder | undefined> {
    for (;;) {
      if (this.#unavailable !== undefined) return undefined;
      const idle = this.#idle.pop();
      if (idle !== undefined) return idle;
      if (this.#all.size < MOST) return this.#make();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async #make(): Promise<JpegDecoder | undefined> {
    const made = JpegDecoder.create(this.#device);
    this.#all.add(made);
    try {
      return await made;
    } catch (error) {
      this.#all.delete(made);
      if (error instanceof NvjpegUnavailableError) this.#unavailable = error;
      // There is room for another one now, or none will ever come.
      for (const wake of this.#waiting.splice(0)) wake();
      if (this.#unavailable === undefined) throw error;
      return undefined;
    }
  }

  /** Nobody uses one any more. @throws JpegError, CudaError */
  async close(): Promise<void> {
    const all = [...this.#all];
    this.#all.clear();
    await Promise.all(all.map(async (made) => (await made).close()));
  }
}
