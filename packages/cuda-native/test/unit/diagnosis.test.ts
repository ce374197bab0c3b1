import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { diagnose } from '../../src/diagnosis/diagnose.js';
import type { CudaUnavailableReason } from '../../src/diagnosis/diagnosis.js';
import { type FactSources, gatherFacts, type MachineFacts, wslGeneration } from '../../src/diagnosis/machine-facts.js';
import { CASES, type Files, GLIBC, GPU, NO_DEVICE, NOT_FOUND, UNKNOWN, WSL2 } from './diagnosis-cases.js';

const roots: string[] = [];

/** A folder with these files, which stands for the root of a machine. */
function machine(files: Files): string {
  const root = mkdtempSync(join(tmpdir(), 'zerohop-machine-'));
  roots.push(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

function facts(files: Files, sources: Omit<FactSources, 'root'> = {}): MachineFacts {
  return gatherFacts({ root: machine(files), env: {}, platform: 'linux', arch: 'x64', ...sources });
}

describe('why CUDA is not available', () => {
  it.each(CASES)('%s', (_, failure, files, sources, reason, what, advice) => {
    const found = diagnose(failure, facts(files, sources));
    expect(found).toEqual({ reason, what: expect.stringContaining(what), advice: expect.stringContaining(advice) });
    // They become "CUDA is not available: WHAT. ADVICE", on one line.
    expect(found.what).not.toMatch(/\.$|\n/);
    expect(found.advice).toMatch(/^[A-Z].*[^.]$/);
  });

  it('has a case for every reason, and docs/errors.md has them all', () => {
    const reasons: Record<CudaUnavailableReason, true> = {
      'no-prebuild': true,
      musl: true,
      'addon-failed': true,
      'no-driver': true,
      'stub-driver': true,
      'driver-too-old': true,
      'driver-mismatch': true,
      'compat-unsupported': true,
      'no-kernel-module': true,
      'no-device-files': true,
      'no-permission': true,
      'no-device': true,
      'devices-hidden': true,
      wsl2: true,
      mig: true,
      jetson: true,
      'not-ready': true,
      mps: true,
      'init-failed': true,
    };
    const tested = new Set([...CASES.map((row) => row[4]), 'no-permission']);
    expect([...tested].sort()).toEqual(Object.keys(reasons).sort());
    const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');
    expect(Object.keys(reasons).filter((reason) => !page.includes(`| \`${reason}\` |`))).toEqual([]);
  });

  it('names the file which this user may not open', () => {
    const root = machine(GPU);
    chmodSync(root, 0o755);
    chmodSync(join(root, 'dev/nvidia0'), 0o600);
    chmodSync(join(root, 'dev/nvidiactl'), 0o666);
    chmodSync(join(root, 'dev/nvidia-uvm'), 0o000);
    const seen = asOrdinaryUser(() => gatherFacts({ root, env: {} }));
    expect(seen.unusableFiles[0]).toEqual({ path: '/dev/nvidia-uvm', errno: 'EACCES' });
    expect(diagnose(UNKNOWN, seen)).toMatchObject({
      reason: 'no-permission',
      what: expect.stringContaining("/dev/nvidia-uvm can't be opened (EACCES)"),
      advice: expect.stringContaining('read and write permission'),
    });
  });

  it('tells device rules that a container lost from permissions', () => {
    const seen = {
      ...facts({ ...GPU, '.dockerenv': '' }),
      unusableFiles: [{ path: '/dev/nvidiactl', errno: 'EPERM' }],
    };
    expect(diagnose(NO_DEVICE, seen)).toMatchObject({
      reason: 'no-permission',
      advice: expect.stringContaining('systemctl daemon-reload'),
    });
  });

  it('looks at files of any kind without waiting and without throwing', () => {
    const root = machine({ 'proc/driver/nvidia/gpus': 'no folder' });
    mkdirSync(join(root, 'proc/version'));
    mkdirSync(join(root, 'dev'));
    symlinkSync('nvidiactl', join(root, 'dev/nvidiactl'));
    const seen = gatherFacts({ root, env: {} });
    expect(seen).toMatchObject({ gpus: [], wsl: undefined, musl: false, library: undefined });
    expect(seen.unusableFiles).toContainEqual({ path: '/dev/nvidiactl', errno: 'ELOOP' });
    expect(gatherFacts({ root: join(root, 'nowhere'), env: {} }).kernelModule).toBe(false);
  });

  it('takes no ordinary kernel for WSL', () => {
    expect(wslGeneration(machine(GLIBC))).toBeUndefined();
    expect(
      wslGeneration(machine({ 'proc/version': 'Linux version 6.6.51.1-5.azl3 (azure@microsoft.com)\n' })),
    ).toBeUndefined();
    expect(wslGeneration(machine({ 'dev/dxg': '' }))).toBe(2);
    expect(wslGeneration(machine({ 'proc/version': WSL2['proc/version'] ?? '' }))).toBe(2);
  });

  it('keeps long values short', () => {
    const seen = facts(GPU, { env: { ZEROHOP_LIBCUDA: 'x'.repeat(100_000) } });
    expect(diagnose(NOT_FOUND, seen).what.length).toBeLessThan(400);
  });
});

/** Root may open everything. */
function asOrdinaryUser<T>(look: () => T): T {
  if (process.geteuid?.() !== 0) return look();
  process.seteuid?.(65534);
  try {
    return look();
  } finally {
    process.seteuid?.(0);
  }
}
