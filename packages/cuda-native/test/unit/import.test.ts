import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../support/child.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('a machine without a binary of the addon', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'zerohop-import-'));
    cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(folder, 'package.json'));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'empty'), '');
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('imports, says that CUDA is not available, and refuses the rest with codes', async () => {
    const entry = JSON.stringify(pathToFileURL(join(folder, 'dist/index.js')).href);
    const { code, stdout, stderr } = await run(`
      const { availability, Device, SharedMemory, NativeUnavailableError, CudaUnavailableError } = await import(${entry});
      const shared = await SharedMemory.create('/never-made', 1).catch((error) => error);
      const device = await Device.open(0).catch((error) => error);
      console.log(JSON.stringify({
        availability: availability(),
        shared: [shared instanceof NativeUnavailableError, shared.code, shared.message, shared.cause.message],
        device: [device instanceof CudaUnavailableError, device.code, device.reason, device.cause.code],
        branded: [device instanceof zerohop.CudaUnavailableError, shared instanceof zerohop.CudaUnavailableError],
      }));
    `);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const seen = JSON.parse(stdout) as {
      availability: { available: boolean; code: string; reason: string; message: string };
      shared: [boolean, string, string, string];
      device: [boolean, string, string, string];
      branded: boolean[];
    };
    expect(seen.availability).toMatchObject({ available: false, code: 'ERR_CUDA_UNAVAILABLE', reason: 'no-prebuild' });
    expect(seen.availability.message).toContain('Use Linux with glibc');
    expect(seen.shared.slice(0, 2)).toEqual([true, 'ERR_NATIVE_UNAVAILABLE']);
    expect(seen.shared[2]).toContain('build:native');
    expect(seen.shared[3]).toContain('No native build was found');
    expect(seen.device).toEqual([true, 'ERR_CUDA_UNAVAILABLE', 'no-prebuild', 'ERR_NATIVE_UNAVAILABLE']);
    // instanceof holds across two copies of the package.
    expect(seen.branded).toEqual([true, false]);
  });

  it('loads neither the addon nor the driver on import', async () => {
    const { stdout } = await run(`
      const { readFileSync } = await import('node:fs');
      console.log(/cuda-native[^\\n]*\\.node|libcuda/.test(readFileSync('/proc/self/maps', 'utf8')));
    `);
    expect(stdout.trim()).toBe('false');
  });
});
