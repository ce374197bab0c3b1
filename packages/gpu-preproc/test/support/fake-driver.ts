import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildFakeLibcuda, buildFile } from '../../../cuda-native/test/fake-libcuda/build.mjs';

const folderOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What the library is made of: all C++ that lies there, whether or not it is included. */
const FOLDERS = ['.', '../host', '../../kernels', '../../../cuda-native/test/fake-libcuda'].map(folderOf);

const OPTIONS = ['-std=c++17', '-O2', '-ffp-contract=off', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared'];

/** Builds the kernels as a library for the fake driver, with g++, when they have changed; gives its path. */
export function buildFakeKernels(): string {
  const source = folderOf('./fake_kernels.cpp');
  const headers = FOLDERS.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /\.(h|cuh)$/.test(name))
      .map((name) => join(folder, name)),
  );
  const target = fileURLToPath(new URL('./build/fake_kernels.so', import.meta.url));
  return buildFile(target, [source, ...headers], ['g++', ...OPTIONS, '-fvisibility=hidden', source, '-o']);
}

/** From now on the CUDA driver is the fake one, and runs the kernels of this package. Before the first CUDA call. */
export function useFakeDriver(): void {
  process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
  process.env.ZEROHOP_FAKE_KERNELS = buildFakeKernels();
}
