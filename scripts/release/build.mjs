import { join } from 'node:path';
import { nvccVariable } from '../../packages/gpu-preproc/scripts/nvcc.mjs';
import { nodeHeaders } from '../setup/machine.mjs';
import { root, tools } from '../setup/paths.mjs';
import { failOn } from './problems.mjs';
import { run } from './run.mjs';

/** Everything that is packed: the addon for both architectures too, where set-up builds only that of the machine. */
const TASKS = ['build', 'build:kernels', 'build:native:x64', 'build:native:arm64'];

/** Builds what changed. */
export async function buildAll() {
  const args = ['exec', 'turbo', 'run', ...TASKS, '--output-logs=errors-only'];
  // As set-up calls it, so that what was built there is found.
  const env = { npm_config_nodedir: nodeHeaders(), NVCC: nvccVariable() };
  const { ok, status, stdout, stderr } = await run(join(tools, 'pnpm'), args, { cwd: root, env, timeoutMs: 900_000 });
  failOn(ok ? [] : [`pnpm ${args.join(' ')} ${status}:\n${stdout}${stderr}`.trimEnd()]);
  return 'all packages, and the addon for x64 and arm64';
}
