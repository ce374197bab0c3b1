// Builds the addon into native/prebuilds/<platform>-<arch>. Needs g++, make and Python (node-gyp's needs), no CUDA.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const native = join(root, 'native');
const target = `${process.platform}-${process.arch}`;

function fail(message) {
  console.error(message);
  process.exit(1);
}

function works(command) {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

if (process.platform !== 'linux') {
  console.log(`cuda-native: nothing to build on ${target}; the addon is for Linux (importing the package still works)`);
  process.exit(0);
}

const missing = [];
if (!works(process.env.CXX ?? 'g++')) missing.push(['g++', 'apt-get install -y g++', 'dnf install -y gcc-c++']);
if (!works('make')) missing.push(['make', 'apt-get install -y make', 'dnf install -y make']);
if (!works('python3')) missing.push(['python3', 'apt-get install -y python3', 'dnf install -y python3']);
if (missing.length > 0) {
  fail(
    missing.map(([tool, apt, dnf]) => `cuda-native: ${tool} is missing. Install it: ${apt}   (or: ${dnf})`).join('\n'),
  );
}

const env = { JOBS: String(availableParallelism()), ...process.env };
if (!env.npm_config_nodedir) {
  const prefix = resolve(process.execPath, '../..');
  // The headers beside the running Node, so that nothing is downloaded; without them node-gyp fetches its own.
  if (existsSync(join(prefix, 'include/node/node_api.h'))) env.npm_config_nodedir = prefix;
}

// Built aside and moved into place, so that a failed build leaves the last good one.
const out = join(native, 'prebuilds/.new');
const prebuildify = createRequire(import.meta.url).resolve('prebuildify/bin.js');
const args = ['--napi', '--strip', '--tag-libc', '--arch', process.arch, '-t', process.versions.node];
const built = spawnSync(
  process.execPath,
  [prebuildify, ...args, '--cwd', native, '--out', out, '--name', 'cuda-native'],
  { cwd: root, env, encoding: 'utf8' },
);
if (built.status !== 0) {
  process.stderr.write(`${built.stdout}${built.stderr}`);
  fail(
    env.npm_config_nodedir
      ? 'cuda-native: the addon did not compile; the compiler output is above.'
      : 'cuda-native: the addon did not build. Node has no headers beside it and node-gyp could not fetch them: ' +
          'install the headers (apt-get install -y libnode-dev, or a Node from nodejs.org or nvm), or set npm_config_nodedir.',
  );
}
// node-gyp-build prefers a file with more tags, and native/build over prebuilds: leave nothing older behind.
const prebuilds = join(native, 'prebuilds', target);
rmSync(prebuilds, { recursive: true, force: true });
mkdirSync(dirname(prebuilds), { recursive: true });
renameSync(join(out, 'prebuilds', target), prebuilds);
rmSync(join(native, 'build'), { recursive: true, force: true });
rmSync(out, { recursive: true, force: true });
console.log(`cuda-native: built native/prebuilds/${target}`);
