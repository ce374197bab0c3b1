import { describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import type { Availability } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { run } from '../support/child.js';

const fake = buildFakeLibcuda();

async function availabilityWith(env: Record<string, string>): Promise<Availability> {
  const { stdout, stderr } = await run('console.log(JSON.stringify(zerohop.availability()));', env);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Availability;
}

describeTier('driver', 'availability', () => {
  it('lists the devices', async () => {
    expect(await availabilityWith({ ZEROHOP_LIBCUDA: fake })).toEqual({
      available: true,
      driverVersion: 13000,
      devices: [
        { ordinal: 0, uuid: 'GPU-f0efeeed-eceb-eae9-e8e7-e6e5e4e3e200', name: 'Fake GPU 0' },
        { ordinal: 1, uuid: 'GPU-f0efeeed-eceb-eae9-e8e7-e6e5e4e3e201', name: 'Fake GPU 1' },
      ],
    });
  });

  it.each([
    ['no driver', { ZEROHOP_LIBCUDA: '/nowhere/libcuda.so.1' }, 'no-driver', '--gpus all'],
    ['a library that lacks functions', { ZEROHOP_LIBCUDA: 'libm.so.6' }, 'driver-too-old', 'Update the NVIDIA driver'],
    ['no GPU', { ZEROHOP_LIBCUDA: fake, ZEROHOP_FAKE_DEVICES: '0' }, 'no-device', 'CUDA_VISIBLE_DEVICES'],
    ['two driver versions', { ZEROHOP_LIBCUDA: fake, ZEROHOP_FAKE_FAIL: 'cuInit=803' }, 'driver-mismatch', 'restart'],
    ['another failure', { ZEROHOP_LIBCUDA: fake, ZEROHOP_FAKE_FAIL: 'cuInit=999' }, 'init-failed', 'CUDA_ERROR_999'],
    [
      'a failing query',
      { ZEROHOP_LIBCUDA: fake, ZEROHOP_FAKE_FAIL: 'cuDeviceGetCount=1' },
      'init-failed',
      'cuDeviceGetCount',
    ],
  ])('gives %s its own reason and advice', async (_, env, reason, advice) => {
    const found = await availabilityWith(env);
    expect(found).toMatchObject({ available: false, code: 'ERR_CUDA_UNAVAILABLE', reason });
    expect((found as { message: string }).message).toContain(advice);
  });

  it('names what it tried', async () => {
    const found = await availabilityWith({ ZEROHOP_LIBCUDA: '/nowhere/libcuda.so.1' });
    expect((found as { tried: readonly string[] }).tried).toEqual([expect.stringContaining('/nowhere/libcuda.so.1')]);
  });

  it('makes Device.open fail in the same way', async () => {
    const { stdout } = await run(
      `console.log(await zerohop.Device.open(0).catch((error) => [error.name, error.code, error.reason].join()));`,
      { ZEROHOP_LIBCUDA: '/nowhere/libcuda.so.1' },
    );
    expect(stdout.trim()).toBe('CudaUnavailableError,ERR_CUDA_UNAVAILABLE,no-driver');
  });
});
