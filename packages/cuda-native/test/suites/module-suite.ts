import { expect, it } from 'vitest';
import { CudaError, DisposedError, type Module } from '../../src/index.js';
import { failureOf, fixture, loose, onDevice, read } from './on-device.js';

/** Images of device code: the kinds there are, and damaged ones. */
export function moduleSuite(): void {
  const on = onDevice();

  async function expectRuns(module: Module): Promise<void> {
    const fill = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
    await using memory = await on.device.alloc(4096);
    on.stream.launch(fill, { grid: 4, block: 256 }, memory, 0x01020304, 1024);
    const values = new Uint32Array((await read(on.stream, memory)).buffer);
    expect(values.every((value) => value === 0x01020304)).toBe(true);
  }

  it.each([
    ['PTX as bytes', () => fixture('kernels.ptx')],
    ['PTX as text', () => Buffer.from(fixture('kernels.ptx')).toString()],
    ['PTX with the NUL that C wants', () => Buffer.concat([fixture('kernels.ptx'), Buffer.alloc(1)])],
    ['a fatbin', () => fixture('kernels.fatbin')],
    ['a fatbin as ArrayBuffer', () => new Uint8Array(fixture('kernels.fatbin')).buffer],
    [
      'a fatbin inside a larger buffer',
      () => {
        const image = fixture('kernels.fatbin');
        const larger = new Uint8Array(image.byteLength + 5);
        larger.set(image, 5);
        return larger.subarray(5);
      },
    ],
  ])('is loaded from %s', async (_, image) => {
    await using module = await on.device.loadModule(image());
    expect(module.device).toBe(on.device);
    await expectRuns(module);
  });

  it('is loaded from a cubin of the device’s architecture, and refused from another', async () => {
    const { major, minor } = on.device.computeCapability;
    if (major === 9 && minor === 0) {
      await using module = await on.device.loadModule(fixture('kernels.sm_90.cubin'));
      await expectRuns(module);
    } else {
      const refused = await failureOf(() => on.device.loadModule(fixture('kernels.sm_90.cubin')));
      expect(refused).toMatchObject({ code: 'CUDA_ERROR_NO_BINARY_FOR_GPU', sticky: false });
    }
  });

  it('may change its bytes once it is asked to load them', async () => {
    const image = Uint8Array.from(fixture('kernels.ptx'));
    const loading = on.device.loadModule(image);
    image.fill(0);
    await using module = await loading;
    await expectRuns(module);
  });

  it('gives the compiler’s words for PTX that is wrong, and the device works afterwards', async () => {
    const ptx = Buffer.from(fixture('kernels.ptx')).toString();
    const broken = ptx.replace(/\bret;/, 'returm;');
    expect(broken).not.toBe(ptx);
    const error = await failureOf(() => on.device.loadModule(broken));
    expect(error).toBeInstanceOf(CudaError);
    expect(error).toMatchObject({
      code: 'CUDA_ERROR_INVALID_PTX',
      status: 218,
      call: 'cuModuleLoadDataEx',
      device: 0,
      sticky: false,
    });
    expect((error as CudaError).message).toMatch(/line \d+/);
    expect((error as CudaError).message).toContain('returm');
    expect(on.device.contextLost).toBe(false);
    await using module = await on.device.loadModule(ptx);
    await expectRuns(module);
  });

  it('says so when the driver is older than the PTX', async () => {
    const newer = Buffer.from(fixture('kernels.ptx'))
      .toString()
      .replace(/^\.version .*$/m, '.version 99.0');
    const error = await failureOf(() => on.device.loadModule(newer));
    expect(error).toMatchObject({ call: 'cuModuleLoadDataEx', sticky: false });
    expect((error as CudaError).code).toMatch(/^CUDA_ERROR_(UNSUPPORTED_PTX_VERSION|INVALID_PTX)$/);
  });

  it('is refused before the driver reads it when it ends early or is nothing at all', async () => {
    const fatbin = fixture('kernels.fatbin');
    const cubin = fixture('kernels.sm_90.cubin');
    for (const image of [
      new Uint8Array(0),
      new Uint8Array(7),
      new Uint8Array(4096),
      '',
      'not PTX at all, but long enough',
      Buffer.from('.version 7.0\n.target sm_75\0hidden'),
      fatbin.subarray(0, 15),
      fatbin.subarray(0, 40),
      fatbin.subarray(0, fatbin.byteLength - 1),
      cubin.subarray(0, 63),
      cubin.subarray(0, 200),
      cubin.subarray(0, cubin.byteLength - 1),
    ]) {
      await expect(on.device.loadModule(image)).rejects.toThrow(RangeError);
    }
    for (const image of [undefined, null, 5, {}, []]) {
      await expect(loose(on.device).loadModule(image)).rejects.toThrow(TypeError);
    }
    await expect(on.device.loadModule(fatbin.subarray(0, 40))).rejects.toThrow(
      'Expected a whole fatbin, cubin or PTX for image but received a fatbin that ends early',
    );
  });

  it('is unloaded by close, once', async () => {
    const module = await on.device.loadModule(fixture('kernels.fatbin'));
    const kernel = await module.kernel('spin', ['u64']);
    await Promise.all([module.close(), module.close()]);
    await module.close();
    expect(module.closed).toBe(true);
    expect(() => on.stream.launch(kernel, { grid: 1, block: 1 }, 1)).toThrow(DisposedError);
    {
      using other = await on.device.loadModule(fixture('kernels.fatbin'));
      expect(other.closed).toBe(false);
    }
  });
}
