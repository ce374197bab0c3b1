import { binding } from './binding.js';
import {
  CudaError,
  CudaUnavailableError,
  type CudaUnavailableReason,
  NativeUnavailableError,
  unavailableMessage,
} from './errors.js';

/** What is known of a device before it is opened. */
export interface DeviceSummary {
  /** The driver's ordinal, after `CUDA_VISIBLE_DEVICES`. */
  readonly ordinal: number;
  /** `GPU-` and 32 hexadecimal digits in groups, as nvidia-smi prints it. */
  readonly uuid: string;
  readonly name: string;
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
    if (error instanceof NativeUnavailableError) {
      throw new CudaUnavailableError(unavailableMessage('no-prebuild', error.message), 'no-prebuild', [], {
        cause: error,
      });
    }
    if (error instanceof CudaError) {
      throw new CudaUnavailableError(unavailableMessage('init-failed', error.message), 'init-failed', [], {
        cause: error,
      });
    }
    throw error;
  }
  if (loaded.devices.length === 0) {
    throw new CudaUnavailableError(unavailableMessage('no-device', 'the driver lists no device'), 'no-device', []);
  }
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
    const message = unavailableMessage('init-failed', error instanceof Error ? error.message : String(error));
    return { available: false, code: 'ERR_CUDA_UNAVAILABLE', reason: 'init-failed', message, tried: [] };
  }
}
