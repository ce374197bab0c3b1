import type { Device, DeviceMemory } from '@zerohop/cuda-native';

const GRANULARITY = 2 ** 20;

/**
 * Device memory for pictures on their way, used again: as many buffers as were in use at once, each as large as the
 * largest picture it held. Owns those that nobody has taken.
 */
export class Buffers {
  readonly #device: Device;
  readonly #idle: DeviceMemory[] = [];
  #closed = false;

  constructor(device: Device) {
    this.#device = device;
  }

  /** At least `byteLength` bytes, to be given back. Allocates off the JS thread where none is free. @throws CudaError */
  async take(byteLength: number): Promise<DeviceMemory> {
    const fits = this.#idle.filter((memory) => memory.byteLength >= byteLength);
    const [best] = fits.sort((a, b) => a.byteLength - b.byteLength);
    if (best !== undefined) {
      this.#idle.splice(this.#idle.indexOf(best), 1);
      return best;
    }
    // One that is too small makes room for it: their number stays that of the most in use at once.
    await this.#idle.pop()?.close();
    return this.#device.alloc(Math.ceil(byteLength / GRANULARITY) * GRANULARITY);
  }

  /** Nothing enqueued uses it any more. */
  give(memory: DeviceMemory): void {
    if (this.#closed) memory[Symbol.dispose]();
    else this.#idle.push(memory);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#idle.splice(0).map((memory) => memory.close()));
  }
}
