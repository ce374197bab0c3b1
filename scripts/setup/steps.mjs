import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf, listSources } from './fingerprint.mjs';
import { home, peers, requirements, root, server, tools } from './paths.mjs';
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
      // The npm that runs this script may be the only one: not every Node has npm in PATH.
      const cli = process.env.npm_execpath ?? '';
      if (/npm-cli\.c?js$/.test(cli)) await log.run(process.execPath, [cli, ...args]);
      else await log.run('npm', args);
    },
  };
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
    ),
    outputs: [
      ...folders.filter((folder) => existsSync(join(folder, 'tsup.config.ts'))).map((folder) => join(folder, 'dist')),
      join(root, 'packages', 'cuda-native', 'native', 'prebuilds'),
    ],
    run: (log) =>
      log.run(join(tools, 'pnpm'), ['exec', 'turbo', 'run', 'build', 'build:native', '--output-logs=errors-only'], {
        env: { npm_config_nodedir: machine.nodedir, PYTHON: machine.python },
      }),
  };
}

async function makeEnvironment(log, machine, folder, file, options = []) {
  rmSync(folder, { recursive: true, force: true });
  await log.run(machine.python, ['-m', 'venv', folder]);
  const fixed = ['--require-hashes', '--only-binary', ':all:', '--progress-bar', 'off'];
  const python = join(folder, 'bin', 'python3');
  await log.run(python, ['-m', 'pip', 'install', ...fixed, ...options, '-r', join(requirements, file)]);
}

function serverStep(machine) {
  return {
    name: 'server',
    title: 'Triton server (about 100 MB)',
    inputs: hashOf([join(requirements, 'server.txt')], machine.python, server),
    outputs: [join(server, 'backends', 'python', 'triton_python_backend_stub')],
    async run(log) {
      await makeEnvironment(log, machine, server, 'server.txt', ['--no-deps']);
      // The wheel brings a stub for each Python; the backend wants its own beside it.
      const wheel = join(server, 'lib', `python${machine.pythonVersion}`, 'site-packages', 'pytriton', 'tritonserver');
      const backend = join(server, 'backends', 'python');
      mkdirSync(backend, { recursive: true });
      for (const name of ['libtriton_python.so', 'triton_python_backend_utils.py']) {
        cpSync(join(wheel, 'backends', 'python', name), join(backend, name));
      }
      const stub = 'triton_python_backend_stub';
      cpSync(join(wheel, 'python_backend_stubs', machine.pythonVersion, stub), join(backend, stub));
    },
  };
}

function peersStep(machine) {
  return {
    name: 'peers',
    title: "peers to compare with: NVIDIA's clients, OpenCV",
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

/** As one word of a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The steps, in order.
 *
 * @param {Set<'server' | 'peers'>} needs what is needed beside the dependencies and the build
 * @returns {(() => Step)[]} made one by one: the inputs of a later step may be outputs of an earlier one
 */
export function stepsFor(needs, machine) {
  const steps = [pnpmStep, dependenciesStep, () => buildStep(machine)];
  if (needs.has('server')) steps.push(() => serverStep(machine));
  if (needs.has('peers')) steps.push(() => peersStep(machine));
  return steps;
}
