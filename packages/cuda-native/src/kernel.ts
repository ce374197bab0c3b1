import { identify, partsOf } from './abi.js';
import type { Device } from './device.js';
import { DisposedError } from './errors.js';
import type { Layout, Signature } from './kernel-signature.js';
import type { NativeKernel } from './native/binding.js';
import type { KernelHandle } from './native/handles.js';
import type { Resource } from './resource.js';

/** A Kernel as a launch needs it. */
export interface KernelParts {
  readonly device: Device;
  readonly handle: KernelHandle;
  readonly name: string;
  readonly layout: Layout;
  /** Its module's. */
  readonly resource: Resource;
  readonly maxThreadsPerBlock: number;
  readonly dynamicSharedBytes: number;
}

let construct: (parts: KernelParts, native: NativeKernel) => Kernel<Signature>;

/**
 * @throws RangeError when the driver knows the parameters, and they are others.
 */
export function openKernel<S extends Signature>(
  device: Device,
  resource: Resource,
  name: string,
  layout: Layout,
  native: NativeKernel,
  dynamicSharedBytes: number,
): Kernel<S> {
  checkAgainstDriver(name, layout, native);
  const { handle, maxThreadsPerBlock } = native;
  const parts = { device, resource, handle, name, layout, maxThreadsPerBlock, dynamicSharedBytes };
  // The signature is only in the types.
  return construct(parts, native) as unknown as Kernel<S>;
}

function checkAgainstDriver(name: string, layout: Layout, { parameters }: NativeKernel): void {
  if (parameters === undefined) return;
  if (parameters.length !== layout.parameters.length) {
    throw new RangeError(
      `Expected a signature of ${parameters.length} parameters for kernel '${name}' but received one of ` +
        `${layout.parameters.length}`,
    );
  }
  for (const [index, real] of parameters.entries()) {
    const mine = layout.parameters[index];
    if (mine?.byteLength === real.byteLength && mine.byteOffset === real.byteOffset) continue;
    throw new RangeError(
      `Expected a parameter of ${real.byteLength} bytes at byte ${real.byteOffset} for signature[${index}] of kernel ` +
        `'${name}' but received ${mine?.type}: ${mine?.byteLength} bytes at byte ${mine?.byteOffset}`,
    );
  }
}

/**
 * What is inside a Kernel.
 *
 * @throws TypeError when it is something else.
 * @throws DisposedError when its module is closed.
 */
export function kernelParts(name: string, kernel: unknown): KernelParts {
  return partsOf(name, 'Kernel', kernel);
}

/** An entry point of a module, launched by `stream.launch`. Needs no closing: it ends with its module. */
export class Kernel<S extends Signature = Signature> {
  readonly name: string;
  readonly device: Device;
  /** How many threads a block may have with this kernel's registers. */
  readonly maxThreadsPerBlock: number;
  /** Registers of each thread. */
  readonly registers: number;
  /** Shared memory that the kernel declares itself, in bytes of each block. */
  readonly staticSharedBytes: number;
  /** The most dynamic shared memory that a launch may ask for, in bytes of each block. */
  readonly dynamicSharedBytes: number;
  readonly #parts: KernelParts;
  /** Only in the types: what `stream.launch` wants. */
  declare readonly signature: S;

  static {
    construct = (parts, native) => new Kernel(parts, native);
    identify(Kernel, 'Kernel', (kernel: Kernel) => {
      if (kernel.closed) throw new DisposedError('Kernel, with its Module,');
      return kernel.#parts;
    });
  }

  private constructor(parts: KernelParts, native: NativeKernel) {
    this.name = parts.name;
    this.device = parts.device;
    this.maxThreadsPerBlock = parts.maxThreadsPerBlock;
    this.registers = native.registers;
    this.staticSharedBytes = native.staticSharedBytes;
    this.dynamicSharedBytes = parts.dynamicSharedBytes;
    this.#parts = parts;
  }

  /** Whether its module is closed. */
  get closed(): boolean {
    return this.#parts.resource.closed;
  }
}
