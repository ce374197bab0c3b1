// Builds the fake CUDA driver and gives its path: as a module by buildFakeLibcuda(), as a program on stdout. Point
// ZEROHOP_LIBCUDA at it before the first CUDA call.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Makes a file by a program that gets its path as the last argument, unless it is newer than all that it is made of. Safe
 * when several processes do so at once.
 *
 * @param {string} file
 * @param {string[]} sources
 * @param {string[]} command run in the folder of the first source
 */
export function buildFile(file, sources, [program, ...options]) {
  const newest = Math.max(...sources.map((name) => statSync(name).mtimeMs));
  if ((statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > newest) return file;
  mkdirSync(dirname(file), { recursive: true });
  // Test files run side by side: each builds its own and the last one in place wins.
  const mine = `${file}.${process.pid}`;
  execFileSync(program, [...options, mine], { cwd: dirname(sources[0]), stdio: 'inherit' });
  renameSync(mine, file);
  return file;
}

/**
 * Builds the C files of a folder into `build/FILE` there, with gcc, unless that is newer than all of them.
 *
 * @param {string} folder
 * @param {string} file whose last part is also the library's soname
 * @param {string[]} [flags]
 */
export function buildLibrary(folder, file, flags = []) {
  const sources = readdirSync(folder).filter((name) => /\.[ch]$/.test(name));
  const always = ['-std=c11', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-fvisibility=hidden'];
  const soname = `-Wl,-soname,${file.split('/').at(-1)}`;
  const inputs = sources.filter((name) => name.endsWith('.c'));
  // Such as a sanitizer's.
  const more = process.env.CFLAGS?.split(' ') ?? [];
  return buildFile(
    join(folder, 'build', file),
    sources.map((name) => join(folder, name)),
    [process.env.CC ?? 'gcc', ...always, ...flags, ...more, '-pthread', soname, ...inputs, '-ldl', '-o'],
  );
}

export function buildFakeLibcuda({ old = false } = {}) {
  const folder = dirname(fileURLToPath(import.meta.url));
  return old ? buildLibrary(folder, 'old/libcuda.so.1', ['-DOLD_DRIVER']) : buildLibrary(folder, 'libcuda.so.1');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(buildFakeLibcuda());
