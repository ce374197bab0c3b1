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
  sticky: false,
  refused: false,
};

describe('errors of the driver', () => {
  it('say what failed, with what was asked for, and where', () => {
    const error = errorFrom({ ...FAILURE, detail: 'requested 5 bytes' });
    expect(error).toBeInstanceOf(CudaError);
    expect(error).toMatchObject({ code: 'CUDA_ERROR_X', status: 2, call: 'cuMemAlloc', device: 0, sticky: false });
    expect(error.message).toBe('cuMemAlloc failed: CUDA_ERROR_X (x); requested 5 bytes on device 0');
  });

  it('that lose the context say what to do', () => {
    expect(errorFrom({ ...FAILURE, sticky: true }).message).toBe(
      'cuMemAlloc failed: CUDA_ERROR_X (x) on device 0. The CUDA context is lost: restart the process',
    );
    expect(errorFrom({ ...FAILURE, sticky: true, refused: true })).toMatchObject({
      sticky: true,
      message:
        'Not tried, since cuMemAlloc failed: CUDA_ERROR_X (x) on device 0. The CUDA context is lost: restart the process',
    });
  });
});
