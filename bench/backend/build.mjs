#!/usr/bin/env node
// Builds the native Triton backend with g++ alone (seconds) and prints the folder to give the server as one of its
// backend directories: it holds zerohop_bench/libtriton_zerohop_bench.so. Nothing is compiled when nothing changed.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('.', import.meta.url));
const directory = join(root, 'build');
const library = join(directory, 'zerohop_bench', 'libtriton_zerohop_bench.so');

const files = (folder, pattern) =>
  readdirSync(join(root, folder))
    .filter((name) => pattern.test(name))
    .sort()
    .map((name) => join(root, folder, name));

function isFresh() {
  const built = statSync(library, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const inputs = [...files('src', /./), ...files('kernels', /\.ptx$/), fileURLToPath(import.meta.url)];
  return inputs.every((file) => statSync(file).mtimeMs <= built);
}

/**
 * @returns {Promise<string>} the backend directory
 * @throws when g++ is missing or fails; the message says which and carries the compiler's output
 */
export async function buildBackend() {
  if (isFresh()) return directory;
  mkdirSync(dirname(library), { recursive: true });
  // The library appears under its name only when it is whole, so that two builds at once do no harm.
  const unfinished = `${library}.${process.pid}`;
  const compiler = process.env.CXX ?? 'g++';
  try {
    await promisify(execFile)(compiler, [
      ...['-std=c++17', '-O3', '-fPIC', '-shared', '-fvisibility=hidden', '-Wall', '-Wextra', '-Werror'],
      ...['-Wa,-I', `-Wa,${join(root, 'kernels')}`],
      ...files('src', /\.(cpp|S)$/),
      ...['-Wl,-Bsymbolic', '-Wl,-z,relro,-z,now', '-ldl', '-s', '-o', unfinished],
    ]);
    renameSync(unfinished, library);
  } catch (cause) {
    const why =
      cause.code === 'ENOENT'
        ? `${compiler} was not found; install it (Debian, Ubuntu: apt-get install -y g++)`
        : `${compiler} failed:\n${cause.stderr ?? cause.message}`;
    throw new Error(`The native backend was not built: ${why}`, { cause });
  } finally {
    rmSync(unfinished, { force: true });
  }
  return directory;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await buildBackend());
