import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository.js';
import { SETPRIV } from './tied.js';

/** Something a test can't do without and a machine may lack. */
export type Need = 'g++' | 'addon' | 'peers' | 'triton' | 'mount' | 'setpriv' | 'gpu';

/**
 * What may be missing even with CI=true, where any other missing need fails. This list is the only one.
 */
const MAY_BE_MISSING_IN_CI: readonly Need[] = ['gpu'];

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

/** The Python with NVIDIA's client, its protocol descriptors and OpenCV. Throws when `npm test` has not set it up. */
export function peersPython(): string {
  const reason = missing('peers');
  if (reason !== undefined) throw new Error(reason);
  return peers();
}

/** What to put before a command so that it sees an empty /dev/shm of so many MiB. Its need is `mount`. */
export function withSmallSharedMemory(mebibytes: number): string[] {
  const script = `mount -t tmpfs -o size=${mebibytes}m tmpfs /dev/shm && exec "$@"`;
  return ['unshare', process.getuid?.() === 0 ? '-m' : '-rm', 'sh', '-c', script, 'sh'];
}

function peers(): string {
  return process.env.ZEROHOP_PEERS_PYTHON ?? join(repositoryRoot, '.zerohop', 'peers', 'bin', 'python3');
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
    case 'triton': {
      const home = process.env.ZEROHOP_TRITON_HOME ?? join(repositoryRoot, '.zerohop', 'server');
      return existsSync(home) ? undefined : 'No Triton server is installed: run "npm run setup".';
    }
    case 'mount': {
      const [file, ...words] = withSmallSharedMemory(1);
      return spawnSync(file as string, [...words, 'true']).status === 0
        ? undefined
        : 'This user may not mount a /dev/shm of its own (unshare).';
    }
    case 'setpriv':
      return existsSync(SETPRIV) ? undefined : 'setpriv (of util-linux) is not installed.';
    case 'gpu':
      return readdirSync('/dev').some((name) => /^nvidia\d+$/.test(name))
        ? undefined
        : 'This machine has no NVIDIA GPU.';
  }
}
