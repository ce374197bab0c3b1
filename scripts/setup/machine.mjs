import { spawnSync } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetupError } from './problems.mjs';
import { findPython } from './python.mjs';

const MIB = 2 ** 20;
const GLIBC = [2, 35];

/** Bytes of /dev/shm that the commands fill at their height: one 4K request (tensor and model), or the tests. */
const SHARED_MEMORY = { setup: 0, demo: 512 * MIB, triton: 512 * MIB, test: 1024 * MIB };

const PACKAGES = {
  'apt-get': {
    install: 'apt-get install -y',
    names: {
      'g++': 'g++',
      make: 'make',
      headers: 'libnode-dev',
      python3: 'python3',
      'python3-venv': (v) => `python${v ?? '3'}-venv`,
      libpython3: (v) => (v === undefined ? 'libpython3-dev' : `libpython${v}`),
    },
  },
  dnf: {
    install: 'dnf install -y',
    names: {
      'g++': 'gcc-c++',
      make: 'make',
      headers: 'nodejs-devel',
      python3: (v) => `python${v ?? '3.12'}`,
      'python3-venv': 'python3-pip',
      libpython3: (v) => `python${v ?? '3.12'}-libs`,
    },
  },
  pacman: {
    install: 'pacman -S --noconfirm',
    names: {
      'g++': 'gcc',
      make: 'make',
      headers: 'nodejs',
      python3: 'python',
      'python3-venv': 'python',
      libpython3: 'python',
    },
  },
  zypper: {
    install: 'zypper install -y',
    names: {
      'g++': 'gcc-c++',
      make: 'make',
      headers: 'nodejs-devel',
      python3: 'python311',
      'python3-venv': 'python311-pip',
      libpython3: 'libpython3_11-1_0',
    },
  },
};

const works = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;

/** The line that installs what is missing, for the package manager of this machine. */
function installLine(packages, version) {
  const manager = Object.keys(PACKAGES).find(works) ?? 'apt-get';
  const { install, names } = PACKAGES[manager];
  const list = packages.map((name) => (typeof names[name] === 'function' ? names[name](version) : names[name]));
  return `${process.getuid?.() === 0 ? '' : 'sudo '}${install} ${[...new Set(list)].join(' ')}`;
}

function platformProblem() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return `The Triton server of the demo and the tests runs on Linux x86-64; this is ${process.platform} ${process.arch}. (The packages can be imported anywhere.)`;
  }
  process.report.excludeNetwork = true;
  const glibc = process.report.getReport().header.glibcVersionRuntime;
  if (glibc === undefined) {
    return 'The Triton server needs glibc 2.35 or newer; this Linux has another C library (musl).';
  }
  const [major, minor] = glibc.split('.').map(Number);
  if (major < GLIBC[0] || (major === GLIBC[0] && minor < GLIBC[1])) {
    return `The Triton server needs glibc 2.35 or newer (Debian 12, Ubuntu 22.04, Fedora 36); this machine has ${glibc}.`;
  }
  return undefined;
}

/** Where the headers of the running Node are, as node-gyp's nodedir; undefined when there are none. */
export function nodeHeaders() {
  const places = [process.env.npm_config_nodedir, dirname(dirname(process.execPath))];
  return places.find((path) => path && existsSync(join(path, 'include', 'node', 'node_api.h')));
}

function sharedMemoryProblem(needed) {
  if (!existsSync('/dev/shm')) return '/dev/shm is not there. Mount it: mount -t tmpfs tmpfs /dev/shm';
  const { bavail, blocks, bsize } = statfsSync('/dev/shm');
  const free = bavail * bsize;
  if (free >= needed) return undefined;
  const wanted = Math.ceil((blocks * bsize - free + needed) / MIB);
  return (
    `/dev/shm has ${Math.floor(free / MIB)} MiB free, ${needed / MIB} MiB are needed. ` +
    `Remove files there, or: mount -o remount,size=${wanted}m /dev/shm   (in a container: docker run --shm-size=${wanted}m)`
  );
}

/**
 * Looks at the machine and reports everything that is missing at once.
 *
 * @param {'setup' | 'demo' | 'test' | 'triton'} command
 * @returns {{ python: string, pythonVersion: string, nodedir: string }}
 * @throws {SetupError} exit code 3
 */
export function checkMachine(command) {
  const platform = platformProblem();
  if (platform !== undefined) throw new SetupError(platform);
  const problems = [];
  const add = (what, packages, version, hint = '') =>
    problems.push(`${what}: ${installLine(packages, version)}${hint}`);
  if (!works(process.env.CXX ?? 'g++')) add('g++', ['g++']);
  if (!works('make')) add('make', ['make']);
  const nodedir = nodeHeaders();
  if (nodedir === undefined) {
    add(
      `the headers of Node (include/node/node_api.h beside ${dirname(process.execPath)})`,
      ['headers'],
      undefined,
      '   (Nodes from nodejs.org and nvm bring them; npm_config_nodedir can name another place)',
    );
  }
  const found = findPython();
  for (const { what, packages, version, hint } of found.problems) {
    if (hint === undefined) add(what, packages, version);
    else problems.push(`${what}: ${hint}`);
  }
  const memory = sharedMemoryProblem(SHARED_MEMORY[command]);
  if (memory !== undefined) problems.push(memory);
  if (problems.length > 0) {
    throw new SetupError(`This machine lacks:\n${problems.map((line) => `  - ${line}`).join('\n')}`);
  }
  return { python: found.python, pythonVersion: found.version, nodedir };
}
