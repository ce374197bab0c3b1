import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dist, run } from '../support/child.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What an ES module prints in a fresh process, parsed. */
function printed(code: string): unknown {
  const command = ['--input-type=module', '-e', code];
  return JSON.parse(execFileSync(process.execPath, command, { encoding: 'utf8' }));
}

/** Code: the modules of Node that `code` loads, beside those that every ES module from a file does. */
function modulesOf(code: string): string {
  return `
    await import(${JSON.stringify(new URL('../fixtures/empty.mjs', import.meta.url).href)});
    const before = new Set(process.moduleLoadList);
    ${code}
    const loaded = process.moduleLoadList.filter((name) => !before.has(name));
    process.stdout.write(JSON.stringify(loaded));
  `;
}

describe('the built package', () => {
  it.each(['index', 'nvjpeg', 'tensor'])('loads no module of Node when %s is imported', (name) => {
    const entry = JSON.stringify(new URL(`../../dist/${name}.js`, import.meta.url).href);
    expect(printed(modulesOf(`await import(${entry});`))).toEqual([]);
  });

  it('loads none with the addon', () => {
    const loaded = printed(`
      const { SharedMemory } = await import(${JSON.stringify(dist)});
      ${modulesOf(`(await SharedMemory.create('/zerohop-test-modules-' + process.pid, 4096)).close();`)}
    `) as string[];
    // That one is loaded by the first use of import.meta.
    expect(loaded.filter((name) => !name.endsWith('/initialize_import_meta'))).toEqual([]);
  });

  it.each(['index', 'nvjpeg'])('has two files to load for %s', (name) => {
    const imports = (file: string) =>
      Array.from(
        readFileSync(join(root, 'dist', file), 'utf8').matchAll(/(?:from|^import) "\.\/(.*)"/gm),
        ([, to]) => to,
      );
    const direct = imports(`${name}.js`);
    expect(direct).toHaveLength(1);
    expect(imports(direct[0] ?? '')).toEqual([]);
  });
});

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
    expect(seen.availability.message).toContain('is missing from this installation. Install the package again');
    expect(seen.shared.slice(0, 2)).toEqual([true, 'ERR_NATIVE_UNAVAILABLE']);
    expect(seen.shared[2]).toContain('build:native');
    expect(seen.shared[3]).toContain('No native build was found');
    expect(seen.device).toEqual([true, 'ERR_CUDA_UNAVAILABLE', 'no-prebuild', 'ERR_NATIVE_UNAVAILABLE']);
    // instanceof holds across two copies of the package.
    expect(seen.branded).toEqual([true, false]);
  });

  it('says what the loader said of one that does not load', async () => {
    const prebuilds = join(folder, `native/prebuilds/linux-${process.arch}`);
    mkdirSync(prebuilds, { recursive: true });
    writeFileSync(join(prebuilds, 'cuda-native.glibc.node'), 'not a binary');
    const entry = JSON.stringify(pathToFileURL(join(folder, 'dist/index.js')).href);
    const { stdout } = await run(`
      const { availability, SharedMemory } = await import(${entry});
      const shared = await SharedMemory.create('/never-made', 1).catch((error) => error);
      console.log(JSON.stringify([shared.code, shared.message, shared.cause.code, availability().reason]));
    `);
    const [code, message, cause, reason] = JSON.parse(stdout) as string[];
    expect([code, cause, reason]).toEqual(['ERR_NATIVE_UNAVAILABLE', 'ERR_DLOPEN_FAILED', 'addon-failed']);
    expect(message).toMatch(/cuda-native\.glibc\.node: (file too short|invalid ELF header)/);
  });

  it('loads neither the addon nor the driver on import', async () => {
    const { stdout } = await run(`
      const { readFileSync } = await import('node:fs');
      console.log(/cuda-native[^\\n]*\\.node|libcuda/.test(readFileSync('/proc/self/maps', 'utf8')));
    `);
    expect(stdout.trim()).toBe('false');
  });
});
