import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { kernelFiles } from '../../src/gpu/kernel-files.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zerohop-kernel-files-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a file that is `seconds` old in a time of its own. */
function put(name: string, seconds: number): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  utimesSync(file, 1e9 + seconds, 1e9 + seconds);
  return file;
}

describe('bundled code', () => {
  test('takes what lies beside it', () => {
    const [fatbin, ptx] = [put('dist/preproc.fatbin', 0), put('dist/preproc.ptx', 0)];
    expect(kernelFiles(join(folder, 'dist'))).toEqual({ fatbin, ptx });
  });

  test('of a build without a compiler has no fatbin', () => {
    const ptx = put('dist/preproc.ptx', 0);
    expect(kernelFiles(join(folder, 'dist'))).toEqual({ fatbin: undefined, ptx });
  });

  test('of an incomplete package has neither', () => {
    expect(kernelFiles(join(folder, 'dist'))).toEqual({ fatbin: undefined, ptx: undefined });
  });

  test('does not look at kernels of folders that are not its package', () => {
    put('kernels/preproc.ptx', 0);
    expect(kernelFiles(join(folder, 'package', 'dist'))).toEqual({ fatbin: undefined, ptx: undefined });
  });
});

describe('sources', () => {
  const source = () => join(folder, 'src', 'gpu');
  const kernels = () => {
    put('kernels/preproc.cu', 10);
    put('kernels/job.cuh', 20);
    return put('kernels/preproc.ptx', 15);
  };

  test('take a fatbin that is newer than every file of the kernels', () => {
    const ptx = kernels();
    const fatbin = put('dist/preproc.fatbin', 21);
    expect(kernelFiles(source())).toEqual({ fatbin, ptx });
  });

  test('leave one that is older than any of them', () => {
    const ptx = kernels();
    put('dist/preproc.fatbin', 19);
    expect(kernelFiles(source())).toEqual({ fatbin: undefined, ptx });
  });

  test("take the committed PTX, never the build's", () => {
    put('dist/preproc.ptx', 99);
    const ptx = kernels();
    expect(kernelFiles(source())).toEqual({ fatbin: undefined, ptx });
  });
});
