#!/usr/bin/env node
// Packs what a machine with a GPU and no network needs to run the gpu tier and the benchmarks: `pnpm gpu:bundle [part…]`.
//
// Writes to .carry/ (ignored by git): triton.tar.xz (the server, from the wheel), node.tar.xz (this Node), app.tar.xz (the
// built packages, their dependencies, tests, benchmarks and peers), data.tar.xz (models and samples) and run.sh, which
// unpacks and runs.
// Each part stays below 34 MB, so that one fits into a transfer beside the tree. A part whose inputs did not change is
// left as it is. Builds the packages first. Needs `npm run setup` to have been run, xz, tar, and python3 with pip.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildBackend } from '../bench/backend/build.mjs';
import { buildPeer } from '../bench/cuda/build.mjs';
import { nvccVariable } from '../packages/gpu-preproc/scripts/nvcc.mjs';
import { closure, copyPackage } from './gpu/closure.mjs';
import { digest } from './gpu/digest.mjs';

const PART_LIMIT = 34_000_000;
/** The Python of the GPU machine, whose stub the server needs. */
const PYTHON = '3.12';
/**
 * What no test or benchmark on that machine loads: tools of the build, CSS support of the test runner's bundler, and the
 * ONNX runtime of the devserver (75 MB packed), which never runs there.
 */
const NOT_CARRIED = new Set([
  ...['esbuild', 'typescript', '@types/node', 'lightningcss-linux-x64-gnu', 'tsup', 'rollup'],
  'onnxruntime-node',
]);

const root = fileURLToPath(new URL('..', import.meta.url));
const carry = join(root, '.carry');
const DATA = ['models', 'samples'];
const PARTS = { triton: stageTriton, node: stageNode, app: stageApp, data: stageData };

const run = (command, args, options) =>
  execFileSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });

function fail(message) {
  console.error(`gpu-bundle: ${message}`);
  process.exit(1);
}

/** The wheel's server without other Pythons' stubs and libpython: the machine's own Python is its backend's Python. */
function stageTriton(stage) {
  const packages = serverPackages();
  const server = join(packages, 'pytriton', 'tritonserver');
  const target = join(stage, 'triton');
  cpSync(server, join(target, 'tritonserver'), {
    recursive: true,
    dereference: true,
    filter: (file) => !file.startsWith(join(server, 'python_backend_stubs')) && !file.includes('__pycache__'),
  });
  const stub = 'triton_python_backend_stub';
  copyFileSync(join(server, 'python_backend_stubs', PYTHON, stub), join(target, 'tritonserver/backends/python', stub));
  const libraries = join(packages, 'nvidia_pytriton.libs');
  cpSync(libraries, join(target, 'nvidia_pytriton.libs'), {
    recursive: true,
    dereference: true,
    filter: (file) => !file.includes('libpython3-'),
  });
}

function serverPackages() {
  const home = join(root, '.zerohop', 'server');
  const lib = join(home, 'lib');
  const pythons = existsSync(lib) ? readdirSync(lib).filter((name) => name.startsWith('python3.')) : [];
  const packages = pythons.map((name) => join(lib, name, 'site-packages'));
  const found = packages.find((path) => existsSync(join(path, 'pytriton', 'tritonserver')));
  return found ?? fail(`no Triton server in ${home}: run "npm run setup" first`);
}

function stageNode(stage) {
  mkdirSync(join(stage, 'node', 'bin'), { recursive: true });
  copyFileSync(process.execPath, join(stage, 'node', 'bin', 'node'));
  chmodSync(join(stage, 'node', 'bin', 'node'), 0o755);
}

/** The repository as far as the gpu tier and the benchmarks need it, with one flat node_modules. */
async function stageApp(stage) {
  const app = join(stage, 'app');
  const backend = await buildBackend();
  const peer = buildPeer();
  const tools = join(root, '.zerohop', 'tools', 'node_modules', '.bin');
  execFileSync(
    join(root, 'node_modules/.bin/turbo'),
    ['run', 'build', 'build:kernels', `build:native:${process.arch}`, '--output-logs=errors-only'],
    {
      cwd: root,
      stdio: 'inherit',
      // The compiler is an input of the build: what was built without it has no code for the GPU.
      env: { ...process.env, PATH: `${tools}:${process.env.PATH}`, NVCC: nvccVariable() },
    },
  );
  const tracked = sources()
    .filter((file) => /^(packages|apps|tools|tests|bench|scripts\/gpu)\/|^[^/]+\.(json|ts|yaml)$/.test(file))
    .filter((file) => !/^bench\/results\/|\/native\/src\/|\.md$/.test(file));
  for (const file of tracked) copyInto(app, file);
  copyTree(app, relative(root, backend));
  copyTree(app, relative(root, peer));

  const workspaces = tracked
    .filter((file) => /^((packages|apps|tools)\/[^/]+|bench)\/package\.json$/.test(file))
    .map(dirname);
  for (const workspace of workspaces) {
    const { name } = JSON.parse(readFileSync(join(root, workspace, 'package.json'), 'utf8'));
    for (const built of ['dist', 'native/prebuilds']) {
      if (existsSync(join(root, workspace, built)))
        copyTree(app, join(workspace, built), (file) => !file.endsWith('.d.ts'));
    }
    const link = join(app, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), join(app, workspace)), link);
  }
  const ours = new Set(workspaces.map((workspace) => join(root, workspace)));
  const roots = [
    ...[...ours].flatMap((from) => dependenciesOf(from).map((name) => ({ name, from }))),
    { name: 'vitest', from: root },
    { name: 'vite', from: root },
  ];
  for (const placed of closure(roots, (directory) => ours.has(directory), NOT_CARRIED)) {
    copyPackage(placed, join(app, 'node_modules'));
  }
  stagePeers(join(app, 'peers'));
  for (const folder of DATA) symlinkSync(join('..', 'data', folder), join(app, folder));
  const commit = run('git', ['rev-parse', 'HEAD'], { cwd: root }).trim();
  const dirty = run('git', ['status', '--porcelain', '--untracked-files=no'], { cwd: root }).trim() !== '';
  writeFileSync(join(app, 'build.json'), `${JSON.stringify({ commit, dirty })}\n`);
}

/** What is large and does not compress: a part of its own. */
function stageData(stage) {
  for (const file of sources().filter((name) => DATA.includes(name.split('/')[0]))) copyInto(join(stage, 'data'), file);
}

/** The files of the clone that git does not ignore. */
function sources() {
  return run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)));
}

/** What a workspace package needs at run time. Development dependencies are workspace packages, or peers named here. */
function dependenciesOf(directory) {
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return [...Object.keys(manifest.dependencies ?? {}), ...Object.keys(manifest.peerDependencies ?? {})];
}

/** perf_analyzer and the Python client, unpacked for the GPU machine's Python. */
function stagePeers(target) {
  const site = join(target, 'site');
  const tags = [17, 24, 27, 28, 34, 35, 38, 39].map((minor) => `manylinux_2_${minor}_x86_64`);
  run('python3', [
    ...[
      '-m',
      'pip',
      'install',
      '--quiet',
      '--root-user-action=ignore',
      '--no-deps',
      '--no-compile',
      '--require-hashes',
      '--only-binary=:all:',
    ],
    ...['--python-version', PYTHON, '--implementation', 'cp'],
    ...[...tags, 'manylinux2014_x86_64', 'manylinux1_x86_64'].flatMap((tag) => ['--platform', tag]),
    ...['--target', site, '--requirement', join(root, 'scripts', 'gpu', 'peers.txt')],
  ]);
  mkdirSync(join(target, 'bin'), { recursive: true });
  renameSync(join(site, 'perf_analyzer', 'bin', 'perf_analyzer'), join(target, 'bin', 'perf_analyzer'));
  chmodSync(join(target, 'bin', 'perf_analyzer'), 0o755);
  copyFileSync(join(root, 'scripts', 'gpu', 'peers-python.sh'), join(target, 'bin', 'python'));
  chmodSync(join(target, 'bin', 'python'), 0o755);
}

function copyInto(app, file) {
  mkdirSync(dirname(join(app, file)), { recursive: true });
  copyFileSync(join(root, file), join(app, file));
}

function copyTree(app, folder, filter = () => true) {
  cpSync(join(root, folder), join(app, folder), { recursive: true, dereference: true, filter });
}

async function compress(stage, target) {
  const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  const tar = spawn('tar', ['-C', stage, ...plain, '-cf', '-', ...readdirSync(stage)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const unfinished = `${target}.unfinished`;
  const out = openSync(unfinished, 'w');
  const xz = spawn('xz', ['-6', '-T2', '-c'], { stdio: [tar.stdout, out, 'inherit'] });
  const ended = (child) =>
    new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${child.spawnfile} ended with ${code}`))));
    });
  await Promise.all([ended(tar), ended(xz)]);
  closeSync(out);
  renameSync(unfinished, target);
}

const wanted = process.argv.slice(2);
for (const name of wanted)
  if (!(name in PARTS)) fail(`unknown part ${name}; parts are ${Object.keys(PARTS).join(', ')}`);
mkdirSync(carry, { recursive: true });
copyFileSync(join(root, 'scripts', 'gpu', 'run.sh'), join(carry, 'run.sh'));
for (const [name, stagePart] of Object.entries(PARTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const started = performance.now();
  const stage = mkdtempSync(join(tmpdir(), 'zerohop-bundle-'));
  try {
    await stagePart(stage);
    const stamp = `${digest(stage)}\n`;
    mkdirSync(join(stage, 'parts'));
    writeFileSync(join(stage, 'parts', name), stamp);
    const target = join(carry, `${name}.tar.xz`);
    const stampFile = `${target}.sha256`;
    const same = existsSync(target) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp;
    if (!same) {
      await compress(stage, target);
      writeFileSync(stampFile, stamp);
    }
    const { size } = statSync(target);
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    console.log(`${relative(root, target)}: ${(size / 1e6).toFixed(1)} MB${same ? ', unchanged' : ''} (${seconds} s)`);
    if (size > PART_LIMIT) fail(`${name} is larger than ${PART_LIMIT / 1e6} MB`);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}
