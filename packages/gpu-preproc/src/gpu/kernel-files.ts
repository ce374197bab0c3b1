import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The files with the kernels' code, as far as they are there. */
export interface KernelFiles {
  readonly fatbin: string | undefined;
  readonly ptx: string | undefined;
}

const ifThere = (file: string): string | undefined => (existsSync(file) ? file : undefined);

/** Whether a file was written after every file of a folder. */
function isNewest(file: string, folder: string): boolean {
  const written = statSync(file).mtimeMs;
  return readdirSync(folder).every((name) => statSync(join(folder, name)).mtimeMs <= written);
}

/**
 * The kernels that belong to the running code, which lies in `folder`: bundled code has them beside it. Sources, two
 * folders below the package, go with its committed PTX, and with the fatbin of the last build only when nothing of the
 * kernels changed since: an older one may take other parameters.
 */
export function kernelFiles(folder: string): KernelFiles {
  const kernels = join(folder, '..', '..', 'kernels');
  if (!existsSync(join(kernels, 'preproc.cu'))) {
    return { fatbin: ifThere(join(folder, 'preproc.fatbin')), ptx: ifThere(join(folder, 'preproc.ptx')) };
  }
  const built = ifThere(join(folder, '..', '..', 'dist', 'preproc.fatbin'));
  return {
    fatbin: built !== undefined && isNewest(built, kernels) ? built : undefined,
    ptx: ifThere(join(kernels, 'preproc.ptx')),
  };
}
