// Builds the fake nvJPEG and gives its path: as a module by buildFakeLibnvjpeg(), as a program on stdout.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildLibrary } from '../fake-libcuda/build.mjs';

export function buildFakeLibnvjpeg() {
  return buildLibrary(dirname(fileURLToPath(import.meta.url)), 'libnvjpeg.so.13');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(buildFakeLibnvjpeg());
