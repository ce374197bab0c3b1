import type { CudaUnavailableReason } from './diagnosis/diagnosis.js';
import { CudaError, CudaUnavailableError, NativeUnavailableError, unavailableError } from './errors.js';
import { binding } from './native/load.js';

/** What is known of a device before it is opened. */
export interface DeviceSummary {
  /** The driver's ordinal, after `CUDA_VISIBLE_DEVICES`. */
  readonly ordinal: number;
  /** `GPU-` and 32 hexadecimal digits in groups, as nvidia-smi prints it. */
  readonly uuid: string;
  readonly name: string;
  /** Whether it is an instance of a GPU in MIG mode; its UUID then begins with `MIG-`. */
  readonly mig: boolean;
}

/** Whether CUDA can be used here, and if not, why and what to do. */
export type Availability =
  | {
      readonly available: true;
      /** The newest CUDA version that the driver supports: 1000 × major + 10 × minor, such as 13000. */
      readonly driverVersion: number;
      readonly devices: readonly DeviceSummary[];
    }
  | {
      readonly available: false;
      readonly code: 'ERR_CUDA_UNAVAILABLE';
      readonly reason: CudaUnavailableReason;
      /** One sentence that says what is missing and what to do. */
      readonly message: string;
      /** One line for each library that did not load. */
      readonly tried: readonly string[];
    };

/** The driver library to load instead of the system's, from the environment variable `ZEROHOP_LIBCUDA`. */
export function driverLibrary(): string {
  return process.env.ZEROHOP_LIBCUDA ?? '';
}

/** The error to throw for one that came from loading the addon or asking the driver what there is. */
export function unavailable(error: unknown): unknown {
  if (error instanceof NativeUnavailableError) {
    const { cause } = error;
    const text = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause);
    const installed = !text.startsWith('No native build was found');
    return unavailableError({ kind: 'addon', text, installed }, [], { cause: error });
  }
  if (error instanceof CudaError) return unavailableError({ kind: 'query', text: error.message }, [], { cause: error });
  return error;
}

/**
 * The driver, loaded and initialised.
 *
 * @throws CudaUnavailableError
 */
export function loadDriver(): { driverVersion: number; devices: readonly DeviceSummary[] } {
  let loaded: { driverVersion: number; devices: readonly DeviceSummary[] };
  try {
    loaded = binding().loadDriver(driverLibrary());
  } catch (error) {
    throw unavailable(error);
  }
  if (loaded.devices.length === 0) throw unavailableError({ kind: 'none-listed' });
  return loaded;
}

/**
 * Says whether CUDA can be used. Never throws. The first call loads and initialises the driver on the calling thread,
 * which may take some 100 ms where there is one; `Device.open` does the same work off the JS thread.
 */
export function availability(): Availability {
  try {
    const { driverVersion, devices } = loadDriver();
    return { available: true, driverVersion, devices };
  } catch (error) {
    if (error instanceof CudaUnavailableError) {
      const { code, reason, message, tried } = error;
      return { available: false, code, reason, message, tried };
    }
    const text = error instanceof Error ? error.message : String(error);
    const { code, reason, message, tried } = unavailableError({ kind: 'query', text });
    return { available: false, code, reason, message, tried };
  }
}
