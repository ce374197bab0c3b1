// Builds the fake CUDA driver and gives its path: as a module by buildFakeLibcuda(), as a program on stdout. Point
// ZEROHOP_LIBCUDA at it before the first CUDA call.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Builds the C files of a folder into `build/FILE` there, with gcc, unless that is newer than all of them.
 *
 * @param {string} folder
 * @param {string} file whose last part is also the library's soname
 * @param {string[]} [flags]
 */
export function buildLibrary(folder, file, flags = []) {
  const library = join(folder, 'build', file);
  const sources = readdirSync(folder).filter((name) => /\.[ch]$/.test(name));
  const newest = Math.max(...sources.map((name) => statSync(join(folder, name)).mtimeMs));
  if ((statSync(library, { throwIfNoEntry: false })?.mtimeMs ?? 0) > newest) return library;

  mkdirSync(dirname(library), { recursive: true });
  // Test files run side by side: each builds its own and the last one in place wins.
  const mine = `${library}.${process.pid}`;
  const always = ['-std=c11', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-fvisibility=hidden'];
  const soname = `-Wl,-soname,${file.split('/').at(-1)}`;
  const inputs = sources.filter((name) => name.endsWith('.c'));
  // Such as a sanitizer's.
  const more = process.env.CFLAGS?.split(' ') ?? [];
  execFileSync(process.env.CC ?? 'gcc', [...always, ...flags, ...more, '-pthread', soname, '-o', mine, ...inputs], {
    cwd: folder,
    stdio: 'inherit',
  });
  renameSync(mine, library);
  return library;
}

export function buildFakeLibcuda({ old = false } = {}) {
  const folder = dirname(fileURLToPath(import.meta.url));
  return old ? buildLibrary(folder, 'old/libcuda.so.1', ['-DOLD_DRIVER']) : buildLibrary(folder, 'libcuda.so.1');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(buildFakeLibcuda());
