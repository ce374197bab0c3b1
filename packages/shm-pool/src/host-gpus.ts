/** How many GPUs a host has. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * GPUs that the files of this host show, also those that CUDA_VISIBLE_DEVICES hides from this process but not from a
 * server. The driver's folder is missing in some sandboxes (gVisor), and both are under WSL2 and on Jetson: then 0.
 */
export function gpusInFiles(root = '/'): number {
  return Math.max(count(join(root, 'proc/driver/nvidia/gpus'), /./), count(join(root, 'dev'), /^nvidia\d+$/));
}

function count(folder: string, names: RegExp): number {
  try {
    return readdirSync(folder).filter((name) => names.test(name)).length;
  } catch {
    return 0;
  }
}
