// Builds the fake CUDA driver and gives its path: as a module by buildFakeLibcuda(), as a program on stdout. Point
// ZEROHOP_LIBCUDA at it before the first CUDA call.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));

export function buildFakeLibcuda() {
  const library = join(folder, 'build/libcuda.so.1');
  const sources = readdirSync(folder).filter((name) => /\.[ch]$/.test(name));
  const newest = Math.max(...sources.map((name) => statSync(join(folder, name)).mtimeMs));
  if ((statSync(library, { throwIfNoEntry: false })?.mtimeMs ?? 0) > newest) return library;

  mkdirSync(dirname(library), { recursive: true });
  // Test files run side by side: each builds its own and the last one in place wins.
  const mine = `${library}.${process.pid}`;
  const flags = ['-std=c11', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-fvisibility=hidden'];
  const inputs = sources.filter((name) => name.endsWith('.c'));
  const args = [...flags, '-pthread', '-Wl,-soname,libcuda.so.1', '-o', mine, ...inputs];
  execFileSync(process.env.CC ?? 'gcc', args, { cwd: folder, stdio: 'inherit' });
  renameSync(mine, library);
  return library;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(buildFakeLibcuda());
