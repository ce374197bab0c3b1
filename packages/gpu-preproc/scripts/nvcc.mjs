import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Turbo's cache knows compilers by $NVCC alone, so what runs `turbo run build:kernels` sets it to what this program
// prints: kernels that were built without a compiler are then built again once there is one.

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** What the fatbin needs, for GPUs that older ones do not know. */
const isOfCuda13 = (nvcc) =>
  /release 13\./.test(
    spawnSync(nvcc, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).stdout ?? '',
  );

/**
 * The compiler of CUDA 13: $NVCC (`none` for none), then the first in $CUDA_HOME, /usr/local/cuda, the PATH, and what set-up
 * puts into the clone.
 *
 * @returns {string | undefined} its path
 * @throws {Error} when $NVCC names another
 */
export function findNvcc() {
  const { NVCC, CUDA_HOME, PATH = '' } = process.env;
  if (NVCC === 'none') return undefined;
  const folders = [
    ...(CUDA_HOME ? [join(CUDA_HOME, 'bin')] : []),
    '/usr/local/cuda/bin',
    ...PATH.split(delimiter).filter(Boolean),
    join(root, '.zerohop', 'nvcc', 'cuda', 'nvidia', 'cu13', 'bin'),
  ];
  if (NVCC) {
    if (!isOfCuda13(NVCC)) throw new Error(`NVCC is '${NVCC}', which is no nvcc of CUDA 13`);
    return NVCC;
  }
  return folders.map((folder) => join(folder, 'nvcc')).find((file) => existsSync(file) && isOfCuda13(file));
}

/** What $NVCC says of this machine. */
export const nvccVariable = () => findNvcc() ?? 'none';

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(nvccVariable());
