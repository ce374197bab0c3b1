import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { diagnose } from '../../src/diagnosis/diagnose.js';
import type { Failure } from '../../src/diagnosis/diagnosis.js';
import { gatherFacts } from '../../src/diagnosis/machine-facts.js';
import type { Availability } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { run } from '../support/child.js';

const fake = buildFakeLibcuda();

type Unavailable = Extract<Availability, { available: false }>;

async function availabilityWith(env: Record<string, string>): Promise<Availability> {
  const { stdout, stderr, code } = await run('console.log(JSON.stringify(zerohop.availability()));', env);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout) as Availability;
}

async function unavailableWith(env: Record<string, string>): Promise<Unavailable> {
  const found = await availabilityWith(env);
  expect(found).toMatchObject({ available: false, code: 'ERR_CUDA_UNAVAILABLE' });
  return found as Unavailable;
}

/** What is to be said of a failure on the machine that runs the tests, whatever that is. */
function said(failure: Failure, env: Record<string, string>): Pick<Unavailable, 'reason' | 'message'> {
  const { reason, what, advice } = diagnose(failure, gatherFacts({ env: { ...process.env, ...env } }));
  return { reason, message: `CUDA is not available: ${what}. ${advice}` };
}

describeTier('driver', 'availability', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'zerohop-availability-'));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** Compiles a library. */
  function library(name: string, code: string): string {
    const path = join(folder, name);
    const source = `${path}.c`;
    writeFileSync(source, code);
    execFileSync(process.env.CC ?? 'gcc', ['-shared', '-fPIC', '-o', path, source], { stdio: 'inherit' });
    return path;
  }

  it('lists the devices', async () => {
    expect(await availabilityWith({ ZEROHOP_LIBCUDA: fake })).toEqual({
      available: true,
      driverVersion: 13000,
      devices: [
        { ordinal: 0, uuid: 'GPU-f0efeeed-eceb-eae9-e8e7-e6e5e4e3e200', name: 'Fake GPU 0', mig: false },
        { ordinal: 1, uuid: 'GPU-f0efeeed-eceb-eae9-e8e7-e6e5e4e3e201', name: 'Fake GPU 1', mig: false },
      ],
    });
  });

  it.each([
    [100, 'CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)'],
    [802, 'CUDA_ERROR_SYSTEM_NOT_READY'],
    [803, 'CUDA_ERROR_SYSTEM_DRIVER_MISMATCH'],
    [804, 'CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE'],
    [805, 'CUDA_ERROR_805'],
    [999, 'CUDA_ERROR_999'],
  ])('says what cuInit’s %i means here', async (status, name) => {
    const env = { ZEROHOP_LIBCUDA: fake, ZEROHOP_FAKE_FAIL: `cuInit=${status}` };
    const found = await unavailableWith(env);
    expect(found.message).toContain(`cuInit failed: ${name}`);
    const text = /(cuInit failed: .*?\))[,.; ]/.exec(found.message)?.[1] ?? '';
    expect(found).toMatchObject(said({ kind: 'init', status, text }, env));
  });

  it('tells a driver without devices from one that fails', async () => {
    const env = { ZEROHOP_LIBCUDA: fake, CUDA_VISIBLE_DEVICES: '-1', ZEROHOP_FAKE_DEVICES: '0' };
    expect(await unavailableWith(env)).toMatchObject({
      reason: 'devices-hidden',
      message: 'CUDA is not available: CUDA_VISIBLE_DEVICES is "-1", which hides every GPU. Unset it, or name a GPU',
    });
    const query = { ZEROHOP_LIBCUDA: fake, ZEROHOP_FAKE_FAIL: 'cuDeviceGetCount=1' };
    const found = await unavailableWith(query);
    expect(found.reason).toBe('init-failed');
    expect(found.message).toContain('cuDeviceGetCount failed');
  });

  it('tells a stub, an old driver and no driver apart', async () => {
    const symbols =
      execFileSync('nm', ['-D', '--defined-only', fake], { encoding: 'utf8' }).match(/\bcu[A-Z]\w+/g) ?? [];
    expect(symbols.length).toBeGreaterThan(30);
    // As in the toolkit's stub: the functions that describe errors, too, only give 34.
    const stub = library('libcuda.so.1', symbols.map((symbol) => `int ${symbol}(void) { return 34; }\n`).join(''));
    const found = await unavailableWith({ ZEROHOP_LIBCUDA: stub });
    expect(found.reason).toBe('stub-driver');
    expect(found.message).toContain(`${stub} is a stub, not a driver`);

    const old = await unavailableWith({ ZEROHOP_LIBCUDA: library('old.so', 'int cuInit(unsigned f) { return f; }') });
    expect(old.reason).toBe('driver-too-old');
    expect(old.message).toMatch(/the driver has no cu[A-Z]\w+\. Update the NVIDIA driver/);

    const other = await unavailableWith({ ZEROHOP_LIBCUDA: 'libm.so.6' });
    expect(other).toMatchObject({ reason: 'no-driver', tried: [] });
    expect(other.message).toContain('"libm.so.6" is no CUDA driver');
  });

  it.each([
    ['a path that is not there', () => '/nowhere/libcuda.so.1', 'cannot open shared object file'],
    ['a name that is not there', () => 'nowhere.so', 'cannot open shared object file'],
    ['an empty file', () => write('empty', ''), 'file too short'],
    ['a text', () => write('text', 'no library '.repeat(100)), 'invalid ELF header'],
    ['a name of two lines', () => '/no\nwhere', '/no where: cannot open shared object file'],
    ['a folder', () => folder, 'not a regular file'],
    ['/dev/null', () => '/dev/null', 'not a regular file'],
    ['/dev/zero', () => '/dev/zero', 'not a regular file'],
    ['a FIFO', fifo, 'not a regular file'],
    ['a very long name', () => `/${'x'.repeat(100_000)}`, 'File name too long'],
    ['a library of another machine', foreign, 'ELF|cannot open shared object file'],
  ])('survives a ZEROHOP_LIBCUDA that is %s', async (_, path, reported) => {
    const found = await unavailableWith({ ZEROHOP_LIBCUDA: path() });
    expect(found.reason).toBe('no-driver');
    expect(found.message).toMatch(
      /^CUDA is not available: the library that ZEROHOP_LIBCUDA names, ".*", could not be /,
    );
    expect(found.message.length).toBeLessThan(500);
    expect(found.tried).toEqual([expect.stringMatching(reported)]);
  });

  it('cuts a ZEROHOP_LIBCUDA at a NUL, as the environment does, and never throws', async () => {
    const { stdout, stderr } = await run(`
      process.env.ZEROHOP_LIBCUDA = '/nowhere\\0/libcuda.so.1';
      console.log(JSON.stringify(zerohop.availability()));
    `);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ available: false, reason: 'no-driver' });
  });

  it('makes Device.open fail in the same way', async () => {
    const { stdout } = await run(
      `console.log(await zerohop.Device.open(0).catch((error) => [error.name, error.code, error.reason].join()));`,
      { ZEROHOP_LIBCUDA: '/nowhere/libcuda.so.1' },
    );
    expect(stdout.trim()).toBe('CudaUnavailableError,ERR_CUDA_UNAVAILABLE,no-driver');
  });

  function write(name: string, content: string | Buffer): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  function fifo(): string {
    const path = join(folder, 'fifo');
    execFileSync('mkfifo', [path]);
    return path;
  }

  /** A 64-bit ELF header of a machine that nobody has. */
  function foreign(): string {
    const header = Buffer.alloc(4096);
    header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
    header.writeUInt16LE(3, 16);
    header.writeUInt16LE(8, 18);
    header.writeUInt32LE(1, 20);
    return write('foreign.so', header);
  }
});
