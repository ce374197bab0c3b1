import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { hashOf, listSources } from './fingerprint.mjs';
import { arm64Problem, fetchNode, NODES, nodeFolder, nodeProgram, sanitizerProblem, X64_NODES } from './nodes.mjs';
import { compiler, home, oldServer, peers, releaseTools, requirements, root, server, tools } from './paths.mjs';
import { SetupError } from './problems.mjs';

/**
 * One step of set-up. `inputs` is a hash: the step runs again when it changes or an output is gone. A step that was
 * interrupted has no stamp and starts over.
 *
 * @typedef {{ name: string, title: string, inputs: string, outputs: string[], run(log: import('./run.mjs').StepLog): Promise<void> }} Step
 */

const manifest = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Folders of the workspace's packages that are there. */
function workspaceFolders() {
  const children = (folder) =>
    existsSync(join(root, folder)) ? readdirSync(join(root, folder)).map((name) => join(root, folder, name)) : [];
  return [...children('packages'), ...children('apps'), ...children('tools'), join(root, 'bench')].filter((folder) =>
    existsSync(join(folder, 'package.json')),
  );
}

function pnpmStep() {
  const wanted = manifest().packageManager;
  return {
    name: 'pnpm',
    title: `${wanted} (in .zerohop/tools)`,
    inputs: hashOf([], wanted),
    outputs: [join(tools, 'pnpm')],
    async run(log) {
      const prefix = join(home, 'tools');
      // npm takes a folder for a whole package that it was interrupted in filling.
      rmSync(prefix, { recursive: true, force: true });
      mkdirSync(prefix, { recursive: true });
      writeFileSync(join(prefix, 'package.json'), '{ "private": true }\n');
      const args = ['install', '--prefix', prefix, '--no-audit', '--no-fund', '--save-exact', wanted];
      const [program, ...first] = npm();
      await log.run(program, [...first, ...args]);
    },
  };
}

/** The npm that runs this script may be the only one: not every Node has npm in PATH. */
function npm() {
  const cli = process.env.npm_execpath ?? '';
  return /npm-cli\.c?js$/.test(cli) ? [process.execPath, cli] : ['npm'];
}

function dependenciesStep() {
  const files = [join(root, 'pnpm-lock.yaml'), join(root, 'pnpm-workspace.yaml')];
  return {
    name: 'dependencies',
    title: 'npm dependencies',
    inputs: hashOf([...files, ...workspaceFolders().map((folder) => join(folder, 'package.json'))], root),
    outputs: [join(root, 'node_modules', '.modules.yaml')],
    run: (log) => log.run(join(tools, 'pnpm'), ['install', '--frozen-lockfile']),
  };
}

function buildStep(machine) {
  const folders = workspaceFolders();
  const configuration = ['turbo.json', 'tsconfig.base.json', 'tsup.base.ts', 'pnpm-lock.yaml'];
  return {
    name: 'build',
    title: 'packages and the native addon',
    inputs: hashOf(
      configuration.map((name) => join(root, name)),
      process.version,
      listSources(folders),
      existsSync(nvcc),
    ),
    outputs: [
      ...folders.filter((folder) => existsSync(join(folder, 'tsup.config.ts'))).map((folder) => join(folder, 'dist')),
      join(root, 'packages', 'cuda-native', 'native', 'prebuilds', `linux-${process.arch}`),
    ],
    run: (log) => turbo(log, machine, ['build', 'build:kernels', `build:native:${process.arch}`]),
  };
}

async function turbo(log, machine, tasks) {
  // Only here: a clone whose packages are not there yet ends in a sentence of set-up's own.
  const { nvccVariable } = await import('../../packages/gpu-preproc/scripts/nvcc.mjs');
  await log.run(join(tools, 'pnpm'), ['exec', 'turbo', 'run', ...tasks, '--output-logs=errors-only'], {
    env: { npm_config_nodedir: machine.nodedir, PYTHON: machine.python, NVCC: nvccVariable() },
  });
}

const nvcc = join(compiler, 'cuda', 'nvidia', 'cu13', 'bin', 'nvcc');

/** Before the build, which without it leaves the kernels to the driver's compiler. */
function compilerStep(machine) {
  return {
    name: 'nvcc',
    title: 'CUDA compiler (about 90 MB)',
    inputs: hashOf([join(requirements, 'nvcc.txt')], machine.python, compiler),
    outputs: [nvcc],
    run: (log) =>
      makeEnvironment(log, machine, compiler, 'nvcc.txt', ['--no-deps', '--target', join(compiler, 'cuda')]),
  };
}

/** A further build of the addon, of which only tests have a use. */
function addonStep(machine, { name, title, output }) {
  const folder = join(root, 'packages', 'cuda-native');
  return {
    name: `addon-${name}`,
    title,
    inputs: hashOf(
      [join(root, 'turbo.json'), join(root, 'pnpm-lock.yaml'), join(folder, 'package.json')],
      process.version,
      listSources([join(folder, 'native'), join(folder, 'scripts')]),
    ),
    outputs: [join(folder, 'native', output)],
    run: (log) => turbo(log, machine, [`build:native:${name}`]),
  };
}

function nodesStep(names) {
  return {
    name: `nodes-${names.join('-')}`,
    title: `Node ${names.map((name) => `${NODES[name].version}${name === 'arm64' ? ' for arm64' : ''}`).join(', ')}`,
    inputs: hashOf([], ...names.map((name) => NODES[name])),
    outputs: names.map(nodeProgram),
    async run(log) {
      for (const name of names) await fetchNode(NODES[name], nodeFolder(name), log, npm());
    },
  };
}

async function makeEnvironment(log, machine, folder, file, options = []) {
  rmSync(folder, { recursive: true, force: true });
  await log.run(machine.python, ['-m', 'venv', folder]);
  const fixed = ['--require-hashes', '--only-binary', ':all:', '--progress-bar', 'off'];
  const python = join(folder, 'bin', 'python3');
  await log.run(python, ['-m', 'pip', 'install', ...fixed, ...options, '-r', join(requirements, file)]);
}

/** A Python environment in `folder` with the wheel of a server in it, and beside it the Python backend with its stub. */
function serverStep(machine, { name, title, folder, file }) {
  const backend = join(folder, 'backends', 'python');
  const stub = 'triton_python_backend_stub';
  return {
    name,
    title,
    inputs: hashOf([join(requirements, file)], machine.python, folder),
    outputs: [join(backend, stub)],
    async run(log) {
      await makeEnvironment(log, machine, folder, file, ['--no-deps']);
      // The wheel brings a stub for each Python; the backend wants its own beside it.
      const wheel = join(folder, 'lib', `python${machine.pythonVersion}`, 'site-packages', 'pytriton', 'tritonserver');
      mkdirSync(backend, { recursive: true });
      for (const part of ['libtriton_python.so', 'triton_python_backend_utils.py']) {
        cpSync(join(wheel, 'backends', 'python', part), join(backend, part));
      }
      cpSync(join(wheel, 'python_backend_stubs', machine.pythonVersion, stub), join(backend, stub));
    },
  };
}

function peersStep(machine) {
  return {
    name: 'peers',
    title: "peers to compare with: NVIDIA's clients, OpenCV, Pillow",
    inputs: hashOf([join(requirements, 'peers.txt'), join(requirements, 'perf-analyzer.txt')], machine.python, peers),
    outputs: [join(peers, 'bin', 'perf_analyzer')],
    async run(log) {
      await makeEnvironment(log, machine, peers, 'peers.txt');
      const python = join(peers, 'bin', 'python3');
      const wheels = join(peers, 'wheels');
      const unpacked = join(peers, 'perf_analyzer');
      const options = ['--require-hashes', '--no-deps', '--only-binary', ':all:', '--progress-bar', 'off'];
      const file = join(requirements, 'perf-analyzer.txt');
      await log.run(python, ['-m', 'pip', 'download', ...options, '-d', wheels, '-r', file]);
      for (const wheel of readdirSync(wheels)) {
        await log.run(python, ['-m', 'zipfile', '-e', join(wheels, wheel), unpacked]);
      }
      rmSync(wheels, { recursive: true });
      const program = readdirSync(unpacked)
        .map((name) => join(unpacked, name, 'data', 'bin', 'perf_analyzer'))
        .find((path) => existsSync(path));
      if (program === undefined)
        throw new SetupError('The wheel of tritonclient carries no perf_analyzer any more.', 1);
      chmodSync(program, 0o755);
      const libraries = quoted(join(unpacked, 'nvidia', 'cuda_runtime', 'lib'));
      const script = ['#!/bin/sh', `LD_LIBRARY_PATH=${libraries}:"$LD_LIBRARY_PATH" exec ${quoted(program)} "$@"`];
      writeFileSync(join(peers, 'bin', 'perf_analyzer'), `${script.join('\n')}\n`, { mode: 0o755 });
    },
  };
}

/** Of the wheel of nvJPEG only its header is kept. */
function headersStep(machine) {
  const file = join(requirements, 'headers.txt');
  const folder = join(peers, 'nvjpeg');
  return {
    name: 'headers',
    title: "NVIDIA's header of nvJPEG",
    inputs: hashOf([file], machine.python, peers),
    outputs: [join(folder, 'nvjpeg.h')],
    async run(log) {
      const python = join(peers, 'bin', 'python3');
      const wheels = join(peers, 'wheels');
      const unpacked = join(peers, 'unpacked');
      for (const each of [wheels, unpacked, folder]) rmSync(each, { recursive: true, force: true });
      const options = ['--require-hashes', '--no-deps', '--only-binary', ':all:', '--progress-bar', 'off'];
      await log.run(python, ['-m', 'pip', 'download', ...options, '-d', wheels, '-r', file]);
      for (const wheel of readdirSync(wheels)) {
        await log.run(python, ['-m', 'zipfile', '-e', join(wheels, wheel), unpacked]);
      }
      const header = readdirSync(unpacked, { recursive: true }).find((path) => basename(path) === 'nvjpeg.h');
      if (header === undefined) throw new SetupError('The wheel of nvidia-nvjpeg carries no nvjpeg.h any more.', 1);
      mkdirSync(folder);
      cpSync(join(unpacked, header), join(folder, 'nvjpeg.h'));
      for (const each of [wheels, unpacked]) rmSync(each, { recursive: true });
    },
  };
}

function releaseStep() {
  const names = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml'];
  const folder = join(root, 'scripts', 'release', 'tools');
  return {
    name: 'release',
    title: 'a registry and linters for the release check',
    inputs: hashOf(
      names.map((name) => join(folder, name)),
      root,
    ),
    outputs: [join(releaseTools, 'node_modules', '.modules.yaml')],
    async run(log) {
      mkdirSync(releaseTools, { recursive: true });
      for (const name of names) cpSync(join(folder, name), join(releaseTools, name));
      await log.run(join(tools, 'pnpm'), ['install', '--frozen-lockfile'], { cwd: releaseTools });
    },
  };
}

/** As one word of a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The steps, in order.
 *
 * @param {Set<import('./tiers.mjs').TierNeed>} needs what is needed beside the dependencies and the build
 * @returns {(() => Step)[]} made one by one: the inputs of a later step may be outputs of an earlier one
 */
export function stepsFor(needs, machine) {
  const steps = [pnpmStep, dependenciesStep];
  if (needs.has('nvcc')) steps.push(() => compilerStep(machine));
  steps.push(() => buildStep(machine));
  if (needs.has('server')) {
    const title = 'Triton server (about 100 MB)';
    steps.push(() => serverStep(machine, { name: 'server', title, folder: server, file: 'server.txt' }));
  }
  if (needs.has('old-server')) {
    const title = 'Triton server 2.48 (about 60 MB)';
    steps.push(() => serverStep(machine, { name: 'server-2.48', title, folder: oldServer, file: 'server-2.48.txt' }));
  }
  if (needs.has('peers')) steps.push(() => peersStep(machine));
  // They lie among the peers, which the step before makes anew.
  if (needs.has('headers')) steps.push(() => headersStep(machine));
  if (needs.has('release')) steps.push(releaseStep);
  if (needs.has('nodes')) steps.push(() => nodesStep(X64_NODES));
  // Without the system's packages for these two their tests are skipped, and CI installs the packages.
  if (needs.has('arm64') && arm64Problem() === undefined) {
    steps.push(() =>
      addonStep(machine, { name: 'arm64', title: 'the native addon for arm64', output: 'prebuilds/linux-arm64' }),
    );
    steps.push(() => nodesStep(['arm64']));
  }
  if (needs.has('sanitizers') && sanitizerProblem() === undefined) {
    const title = 'the native addon with sanitizers';
    steps.push(() => addonStep(machine, { name: 'asan', title, output: 'build/sanitize-address' }));
  }
  return steps;
}
