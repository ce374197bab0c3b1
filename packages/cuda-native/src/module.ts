import { identify } from './abi.js';
import { checkInteger, checkOptions, invalid } from './check.js';
import type { Device } from './device.js';
import { DisposedError } from './errors.js';
import { type Kernel, openKernel } from './kernel.js';
import { layOut, type Signature } from './kernel-signature.js';
import type { ModuleHandle } from './native/handles.js';
import { binding } from './native/load.js';
import { closeInBackground, Resource } from './resource.js';

/** How a kernel will be launched. */
export interface KernelOptions {
  /**
   * The most dynamic shared memory that a launch will ask for, in bytes. Above 48 KiB the driver must be told; up to
   * `device.maxSharedBytesPerBlock`.
   *
   * @defaultValue `49152` less the kernel's static shared memory
   */
  readonly dynamicSharedBytes?: number;
}

/** What kernels may use without asking, static and dynamic together. */
const PLAIN_SHARED_BYTES = 48 * 1024;

let construct: (device: Device, handle: ModuleHandle) => Module;

export function openModule(device: Device, handle: ModuleHandle): Module {
  return construct(device, handle);
}

/** Device code, loaded: a fatbin, a cubin or PTX. Owns its kernels: they end with it. */
export class Module {
  readonly device: Device;
  readonly #handle: ModuleHandle;
  readonly #resource: Resource;

  static {
    construct = (device, handle) => new Module(device, handle);
    identify(Module, 'Module', (module: Module) => {
      module.#checkOpen();
      return module.#resource;
    });
  }

  private constructor(device: Device, handle: ModuleHandle) {
    this.device = device;
    this.#handle = handle;
    this.#resource = new Resource('Module', `A Module on device ${device.ordinal}`, () =>
      binding().moduleUnload(handle),
    );
  }

  get closed(): boolean {
    return this.#resource.closed;
  }

  /**
   * An entry point, its code loaded, so that the first launch is as quick as the others. Off the JS thread.
   *
   * @param name as the image exports it: unmangled for `extern "C"`.
   * @param signature the kinds of the parameters, in order. Drivers from CUDA 12.4 on say how large they really are, and
   * a signature that does not fit is refused; older ones can't, and a wrong signature then reads wrong values.
   * @throws TypeError | RangeError for wrong arguments, and for a signature that does not fit.
   * @throws DisposedError
   * @throws CudaError `CUDA_ERROR_NOT_FOUND` when the module has no such kernel, and others.
   */
  async kernel<const S extends Signature>(name: string, signature: S, options: KernelOptions = {}): Promise<Kernel<S>> {
    this.#checkOpen();
    if (typeof name !== 'string') throw invalid('name', 'non-empty string', name);
    if (name === '' || name.includes('\0')) throw invalid('name', 'non-empty string', name, RangeError);
    const layout = layOut(signature);
    checkOptions(options);
    const { dynamicSharedBytes } = options;
    if (dynamicSharedBytes !== undefined) {
      checkInteger('dynamicSharedBytes', dynamicSharedBytes, 0, this.device.maxSharedBytesPerBlock);
    }
    const native = await this.#resource.during(binding().moduleKernel(this.#handle, name, dynamicSharedBytes ?? 0));
    this.#checkOpen();
    const plain = Math.max(0, PLAIN_SHARED_BYTES - native.staticSharedBytes);
    return openKernel(this.device, this.#resource, name, layout, native, Math.max(dynamicSharedBytes ?? 0, plain));
  }

  /**
   * Waits for the enqueued launches of its kernels, then unloads the code. Closing twice is fine.
   *
   * @throws CudaError when the driver refuses.
   */
  close(): Promise<void> {
    return this.#resource.close();
  }

  /** Marks the module closed and unloads it once its launches are over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new DisposedError('Module');
  }
}
