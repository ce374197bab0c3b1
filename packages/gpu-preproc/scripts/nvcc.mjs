import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * The CUDA compiler: $NVCC (`none` for none), then $CUDA_HOME, /usr/local/cuda, the PATH, and what set-up puts into the
 * clone.
 *
 * @returns {string | undefined} its path
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
  return [...(NVCC ? [NVCC] : []), ...folders.map((folder) => join(folder, 'nvcc'))].find((file) => existsSync(file));
}
