// Builds the addon. Needs g++, make and Python (node-gyp's needs), no CUDA.
//
//   node scripts/build-native.mjs                      for this machine, into native/prebuilds/<platform>-<arch>
//   node scripts/build-native.mjs --arch arm64         for the other architecture, with Debian's cross compiler
//   node scripts/build-native.mjs --sanitize address   for tests, into native/build/sanitize-address
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SANITIZERS } from './sanitizers.mjs';

/** Prefixes of the compilers, for each architecture with a prebuild. */
const TRIPLES = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const native = join(root, 'native');

function fail(message) {
  console.error(message);
  process.exit(1);
}

function options() {
  try {
    const { values } = parseArgs({ options: { arch: { type: 'string' }, sanitize: { type: 'string' } } });
    const { arch = process.arch, sanitize } = values;
    if (!Object.hasOwn(TRIPLES, arch)) {
      fail(`cuda-native: there is no binary for ${arch}; --arch is one of ${Object.keys(TRIPLES).join(', ')}`);
    }
    if (sanitize !== undefined && !Object.hasOwn(SANITIZERS, sanitize)) {
      fail(`cuda-native: unknown sanitizer ${sanitize}; --sanitize is one of ${Object.keys(SANITIZERS).join(', ')}`);
    }
    if (sanitize !== undefined && arch !== process.arch) fail('cuda-native: --sanitize builds for this machine only');
    return { arch, sanitize };
  } catch (error) {
    return fail(`cuda-native: ${error.message}`);
  }
}

function works(command) {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The compiler's environment. The caller's CC and CXX are for this machine, so a cross build does not take them. */
function toolchain(arch) {
  if (arch === process.arch) return {};
  const triple = TRIPLES[arch];
  return {
    CC: `${triple}-gcc`,
    CXX: `${triple}-g++`,
    AR: `${triple}-ar`,
    PREBUILD_STRIP_BIN: `${triple}-strip`,
  };
}

function checkTools(arch, env) {
  const lines = [];
  const needs = (tool, apt, dnf) => {
    if (!works(tool)) lines.push(`cuda-native: ${tool} is missing. Install it: apt-get install -y ${apt}   (${dnf})`);
  };
  if (arch === process.arch) needs(env.CXX ?? 'g++', 'g++', 'or: dnf install -y gcc-c++');
  else {
    const hint = `Debian and Ubuntu; elsewhere build on a machine with this architecture`;
    needs(env.CXX, `g++-${TRIPLES[arch].replace('_', '-')}`, hint);
  }
  needs('make', 'make', 'or: dnf install -y make');
  needs('python3', 'python3', 'or: dnf install -y python3');
  if (lines.length > 0) fail(lines.join('\n'));
}

/**
 * A folder for node-gyp to work in. It puts its output beside binding.gyp, where builds for two targets would disturb each
 * other, and where node-gyp-build would find one before it is done.
 */
function stage(name) {
  const folder = join(native, 'build', `.${name}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const entry of ['binding.gyp', 'exports.map', 'src']) symlinkSync(join('../..', entry), join(folder, entry));
  return folder;
}

/** Replaces the binaries of a folder; whoever loads one meanwhile gets the old or the new one, and never half of it. */
function install(from, to) {
  const built = readdirSync(from);
  mkdirSync(to, { recursive: true });
  for (const name of built) renameSync(join(from, name), join(to, name));
  // node-gyp-build prefers a file with more tags.
  for (const name of readdirSync(to)) if (!built.includes(name)) rmSync(join(to, name), { recursive: true });
}

if (process.platform !== 'linux') {
  const here = `${process.platform}-${process.arch}`;
  console.log(`cuda-native: nothing to build on ${here}; the addon is for Linux (importing the package still works)`);
  process.exit(0);
}

const { arch, sanitize } = options();
// The sources are listed by ls, whose order, and with it that of the binary, is the locale's.
const env = { JOBS: String(availableParallelism()), ...process.env, ...toolchain(arch), LC_ALL: 'C' };
checkTools(arch, env);
if (!env.npm_config_nodedir) {
  const prefix = resolve(process.execPath, '../..');
  // The headers beside the running Node, so that nothing is downloaded; without them node-gyp fetches its own.
  if (existsSync(join(prefix, 'include/node/node_api.h'))) env.npm_config_nodedir = prefix;
}
if (sanitize !== undefined) {
  const flags = SANITIZERS[sanitize].join(' ');
  Object.assign(env, { CFLAGS: flags, CXXFLAGS: flags, LDFLAGS: flags });
}

const target = `${process.platform}-${arch}`;
const name = sanitize === undefined ? target : `sanitize-${sanitize}`;
const folder = stage(name);
const prebuildify = createRequire(import.meta.url).resolve('prebuildify/bin.js');
const args = ['--napi', '--tag-libc', '--arch', arch, '-t', process.versions.node, '--name', 'cuda-native'];
if (sanitize === undefined) args.push('--strip');
const built = spawnSync(process.execPath, [prebuildify, ...args, '--cwd', folder, '--out', folder], {
  cwd: root,
  env,
  encoding: 'utf8',
});
if (built.status !== 0) {
  process.stderr.write(`${built.stdout}${built.stderr}`);
  fail(
    env.npm_config_nodedir
      ? 'cuda-native: the addon did not compile; the compiler output is above.'
      : 'cuda-native: the addon did not build. Node has no headers beside it and node-gyp could not fetch them: ' +
          'install the headers (apt-get install -y libnode-dev, or a Node from nodejs.org or nvm), or set npm_config_nodedir.',
  );
}
const destination = sanitize === undefined ? join('prebuilds', target) : join('build', name);
install(join(folder, 'prebuilds', target), join(native, destination));
rmSync(folder, { recursive: true, force: true });
// What a node-gyp run by hand has left would be loaded in place of the prebuild.
for (const kind of ['Release', 'Debug']) rmSync(join(native, 'build', kind), { recursive: true, force: true });
console.log(`cuda-native: built native/${destination}`);
