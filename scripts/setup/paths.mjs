import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');

/** The one folder, ignored by git, that holds everything set-up makes (beside node_modules and build outputs). */
export const home = join(root, '.zerohop');

export const tools = join(home, 'tools', 'node_modules', '.bin');
export const server = join(home, 'server');
/** An older server, which the conformance suite runs against too. */
export const oldServer = join(home, 'server-2.48');
export const peers = join(home, 'peers');
/** The CUDA compiler, in a Python environment. */
export const compiler = join(home, 'nvcc');
/** What only the release check needs: a registry, linters of packages, other versions of TypeScript. */
export const releaseTools = join(home, 'release');
export const requirements = join(root, 'tools', 'local-triton', 'requirements');

// npm sets these for its scripts; they describe that npm's own place and would mislead the npm and pnpm started here.
const FROM_NPM =
  /^npm_(lifecycle|package|command|execpath|node_execpath|config_(prefix|local_prefix|global_prefix|globalconfig|user_agent|init_module|node_gyp|npm_version|noproxy)$)/;

/** Environment of every program set-up starts: caches and data inside the clone; the user's own configuration still counts. */
export function environment(extra = {}) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !FROM_NPM.test(name)));
  return {
    ...env,
    PATH: `${tools}:${process.env.PATH}`,
    npm_config_cache: join(home, 'npm-cache'),
    npm_config_devdir: join(home, 'node-gyp'),
    npm_config_update_notifier: 'false',
    PNPM_HOME: join(home, 'pnpm'),
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_DATA_HOME: join(home, 'data'),
    XDG_STATE_HOME: join(home, 'state'),
    PIP_CACHE_DIR: join(home, 'pip-cache'),
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    PIP_NO_INPUT: '1',
    PYTHONDONTWRITEBYTECODE: '1',
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    ...extra,
  };
}
