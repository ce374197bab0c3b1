import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository.js';
import { SETPRIV } from './tied.js';

/** Something a test can't do without and a machine may lack. */
export type Need =
  | 'g++'
  | 'addon'
  | 'peers'
  | 'cuda-headers'
  | 'nvjpeg-header'
  | 'triton'
  | 'old-triton'
  | 'arm64'
  | 'mount'
  | 'setpriv'
  | 'root'
  | 'gpu'
  | 'gpus';

/**
 * What may be missing even with CI=true, where any other missing need fails. This list is the only one.
 */
const MAY_BE_MISSING_IN_CI: readonly Need[] = ['gpu', 'gpus'];

const seen = new Map<Need, string | undefined>();

/** Why a need is not met on this machine, as a sentence; undefined when it is met. */
export function missing(need: Need): string | undefined {
  if (!seen.has(need)) seen.set(need, look(need));
  return seen.get(need);
}

/** What to do about tests whose need is missing: run them to fail, or skip them. */
export function verdict(need: Need): { run: true } | { run: false; reason: string; fail: boolean } {
  const reason = missing(need);
  if (reason === undefined) return { run: true };
  const demanded = need === 'gpu' && process.env.REQUIRE_GPU === '1';
  const inCi = process.env.CI === 'true' && !MAY_BE_MISSING_IN_CI.includes(need);
  return { run: false, reason, fail: demanded || inCi };
}

/** The Python with NVIDIA's client, its protocol descriptors, OpenCV and Pillow. Throws before `npm test` set it up. */
export function peersPython(): string {
  const reason = missing('peers');
  if (reason !== undefined) throw new Error(reason);
  return peers();
}

/** The folder with NVIDIA's cuda.h. Throws when `npm test` has not set it up. */
export function cudaHeaders(): string {
  const reason = missing('cuda-headers');
  if (reason !== undefined) throw new Error(reason);
  return headers();
}

/** The folder with NVIDIA's nvjpeg.h, which includes those of `cudaHeaders`. Throws when `npm test` has not set it up. */
export function nvjpegHeader(): string {
  const reason = missing('nvjpeg-header');
  if (reason !== undefined) throw new Error(reason);
  return nvjpegFolder();
}

/** What to put before a command so that it sees an empty /dev/shm of so many MiB. Its need is `mount`. */
export function withSmallSharedMemory(mebibytes: number): string[] {
  const script = `mount -t tmpfs -o size=${mebibytes}m tmpfs /dev/shm && exec "$@"`;
  return ['unshare', process.getuid?.() === 0 ? '-m' : '-rm', 'sh', '-c', script, 'sh'];
}

const QEMU = 'qemu-aarch64-static';
/** Where the cross compiler's package has the C and C++ libraries that a Node for arm64 needs. */
const ARM64_LIBRARIES = '/usr/aarch64-linux-gnu';
const arm64Node = join(repositoryRoot, '.zerohop', 'nodes', 'arm64', 'bin', 'node');

/** What runs a Node for arm64 here, without its arguments. Its need is `arm64`. */
export function emulatedNode(): [program: string, ...args: string[]] {
  return [QEMU, '-L', ARM64_LIBRARIES, arm64Node];
}

function peers(): string {
  return process.env.ZEROHOP_PEERS_PYTHON ?? join(repositoryRoot, '.zerohop', 'peers', 'bin', 'python3');
}

/** Of the CUDA runtime that perf_analyzer needs, among the peers. */
function headers(): string {
  return join(repositoryRoot, '.zerohop', 'peers', 'perf_analyzer', 'nvidia', 'cuda_runtime', 'include');
}

function nvjpegFolder(): string {
  return join(repositoryRoot, '.zerohop', 'peers', 'nvjpeg');
}

function gpus(): number {
  return readdirSync('/dev').filter((name) => /^nvidia\d+$/.test(name)).length;
}

function look(need: Need): string | undefined {
  switch (need) {
    case 'g++':
      return spawnSync(process.env.CXX ?? 'g++', ['--version']).status === 0 ? undefined : 'g++ is not installed.';
    case 'addon': {
      const prebuilds = join(repositoryRoot, 'packages', 'cuda-native', 'native', 'prebuilds', `linux-${process.arch}`);
      return existsSync(prebuilds) ? undefined : 'The addon is not built: run "npm run setup".';
    }
    case 'peers':
      return existsSync(peers()) ? undefined : 'The peers are not installed: run "npm test" once.';
    case 'cuda-headers':
      return existsSync(join(headers(), 'cuda.h')) ? undefined : 'cuda.h is not installed: run "npm test" once.';
    case 'nvjpeg-header':
      return existsSync(join(nvjpegFolder(), 'nvjpeg.h'))
        ? undefined
        : 'nvjpeg.h is not installed: run "npm test" once.';
    case 'triton': {
      const home = process.env.ZEROHOP_TRITON_HOME ?? join(repositoryRoot, '.zerohop', 'server');
      return existsSync(home) ? undefined : 'No Triton server is installed: run "npm run setup".';
    }
    case 'old-triton':
      return existsSync(join(repositoryRoot, '.zerohop', 'server-2.48'))
        ? undefined
        : 'No Triton server 2.48 is installed: run "npm test -- triton" once.';
    case 'arm64': {
      const works = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
      if (!works(QEMU) || !works('aarch64-linux-gnu-gcc') || !existsSync(ARM64_LIBRARIES)) {
        return 'Programs for arm64 need the packages g++-aarch64-linux-gnu and qemu-user-static.';
      }
      const binary = join(repositoryRoot, 'packages', 'cuda-native', 'native', 'prebuilds', 'linux-arm64');
      return existsSync(binary) && existsSync(arm64Node)
        ? undefined
        : 'Nothing is set up for arm64: run "npm test" once.';
    }
    case 'mount': {
      const [file, ...words] = withSmallSharedMemory(1);
      return spawnSync(file as string, [...words, 'true']).status === 0
        ? undefined
        : 'This user may not mount a /dev/shm of its own (unshare).';
    }
    case 'setpriv':
      return existsSync(SETPRIV) ? undefined : 'setpriv (of util-linux) is not installed.';
    case 'root':
      return process.getuid?.() === 0 ? undefined : 'Only root acts as other users, and chooses process ids.';
    case 'gpu':
      return gpus() > 0 ? undefined : 'This machine has no NVIDIA GPU.';
    case 'gpus':
      return gpus() > 1 ? undefined : 'This machine has less than two NVIDIA GPUs.';
  }
}
