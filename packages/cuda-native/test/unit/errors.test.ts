import { describe, expect, it } from 'vitest';
import { CudaError, errorFrom, type NativeFailure } from '../../src/errors.js';

const FAILURE: NativeFailure = {
  source: 'cuda',
  status: 2,
  call: 'cuMemAlloc',
  reason: '',
  detail: '',
  device: 0,
  name: 'CUDA_ERROR_X',
  text: 'x',
};

describe('errors of the driver', () => {
  // The statuses whose description says that the process must be terminated and relaunched, and uncorrectable ones.
  it.each([214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810])('%i is sticky', (status) => {
    const error = errorFrom({ ...FAILURE, status });
    expect(error).toBeInstanceOf(CudaError);
    expect(error).toMatchObject({ sticky: true, status });
    expect(error.message).toBe(
      'cuMemAlloc failed: CUDA_ERROR_X (x) on device 0. The CUDA context is lost: restart the process',
    );
  });

  it.each([1, 2, 201, 400, 600, 701, 704, 705, 720])('%i is not', (status) => {
    expect(errorFrom({ ...FAILURE, status })).toMatchObject({ sticky: false, status });
  });
});
