import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tools } from '../setup/paths.mjs';
import { failOn } from './problems.mjs';
import { run } from './run.mjs';

const ADD = {
  npm: ['install', '--ignore-scripts', '--strict-peer-deps', '--save-exact', '--loglevel=error'],
  pnpm: ['add', '--ignore-scripts', '--strict-peer-dependencies', '--save-exact', '--reporter=append-only'],
};

/** As on a machine without a GPU. */
const NO_GPU = { CUDA_VISIBLE_DEVICES: '-1' };

/** A folder above with packages in it would lend them to the project, and nothing would be missed. */
export function lentBy(folder) {
  for (let above = dirname(folder); above !== dirname(above); above = dirname(above)) {
    if (existsSync(join(above, 'node_modules'))) return join(above, 'node_modules');
  }
  return undefined;
}

/** A project of a user: an empty folder outside of the clone, in which a package manager installs from the registry. */
export class Project {
  /**
   * @param {'npm' | 'pnpm'} manager
   * @param {string} folder to make
   * @param {{ registry: { npmrc: string }, caches: string }} options `caches` holds nothing of earlier runs: those have the same
   *   packages in the same versions, but not the same content
   */
  constructor(manager, folder, { registry, caches }) {
    this.manager = manager;
    this.folder = folder;
    this.env = {
      npm_config_cache: join(caches, 'npm'),
      XDG_CACHE_HOME: join(caches, 'pnpm'),
      XDG_DATA_HOME: join(caches, 'data'),
    };
    mkdirSync(folder, { recursive: true });
    this.write('package.json', JSON.stringify({ name: 'user', version: '1.0.0', private: true, type: 'module' }));
    this.write('.npmrc', registry.npmrc);
    const settings = ['packages: []', `storeDir: ${JSON.stringify(join(caches, 'store'))}`];
    if (manager === 'pnpm') this.write('pnpm-workspace.yaml', `${settings.join('\n')}\n`);
  }

  write(name, text) {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  read(name) {
    return readFileSync(join(this.folder, name), 'utf8');
  }

  /** Installs packages with scripts off; a peer that is not met, or is met by a wrong version, fails. */
  async add(specifiers, options = []) {
    const program = this.manager === 'npm' ? 'npm' : join(tools, 'pnpm');
    const args = [...ADD[this.manager], ...options, ...specifiers];
    const { ok, status, stdout, stderr } = await run(program, args, { cwd: this.folder, env: this.env });
    failOn(ok ? [] : [`${this.manager} ${args.join(' ')} ${status}:\n${stdout}${stderr}`.trimEnd()]);
  }

  /** Runs a script on plain node. */
  node(script, { cwd = this.folder, env = {}, timeoutMs = 60_000 } = {}) {
    return run(process.execPath, [join(this.folder, script)], { cwd, timeoutMs, env: { ...NO_GPU, ...env } });
  }

  /** Runs a command that an installed package brings, as a script of the project would. */
  command(name, args, { cwd = this.folder, env = {} } = {}) {
    return run(join(this.folder, 'node_modules', '.bin', name), args, { cwd, env: { ...NO_GPU, ...env } });
  }
}
