import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { availability, type Device, type Module } from '@zerohop/cuda-native';
import { PreprocError } from '../errors.js';
import { kernelFiles } from './kernel-files.js';

/** What the kernels were loaded from: code for this GPU, or PTX that the driver compiled first. */
export type LoadedFrom = 'fatbin' | 'ptx';

/** From 13.0 on drivers read what nvcc 13 writes. */
const FATBIN_DRIVER = 13000;

/** What a driver says that can't use a fatbin but may compile PTX: no code for this GPU, unknown or damaged image. */
const TRY_PTX = new Set([
  'CUDA_ERROR_INVALID_IMAGE',
  'CUDA_ERROR_NO_BINARY_FOR_GPU',
  'CUDA_ERROR_INVALID_PTX',
  'CUDA_ERROR_UNSUPPORTED_PTX_VERSION',
]);

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

/**
 * Loads the kernels off the JS thread: from the fatbin where there is one and the driver reads it, else from PTX, which
 * takes the driver some seconds the first time (it keeps the result in its cache).
 *
 * @throws PreprocError `ERR_KERNELS_MISSING` when the package lacks the file
 * @throws CudaError when the driver refuses both
 */
export async function loadKernels(device: Device): Promise<{ module: Module; loadedFrom: LoadedFrom }> {
  const { fatbin, ptx } = kernelFiles(fileURLToPath(new URL('.', import.meta.url)));
  const cuda = availability();
  if (fatbin !== undefined && cuda.available && cuda.driverVersion >= FATBIN_DRIVER) {
    try {
      return { module: await device.loadModule(await readFile(fatbin)), loadedFrom: 'fatbin' };
    } catch (error) {
      if (!TRY_PTX.has(String(codeOf(error)))) throw error;
    }
  }
  if (ptx === undefined) {
    throw new PreprocError('ERR_KERNELS_MISSING', 'The package is incomplete: it has no preproc.ptx. Install it again');
  }
  return { module: await device.loadModule(await readFile(ptx)), loadedFrom: 'ptx' };
}
