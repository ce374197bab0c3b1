/** What of this machine decides how memory can be shared with a server. */
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

export interface Environment {
  /** WSL2, where shared memory may be accepted and hold something else (triton-inference-server/server#4436). */
  readonly wsl2: boolean;
  /** This process has a PID namespace other than the host's, as in a container without `--pid=host`. */
  readonly ownPidNamespace: boolean;
}

/** Linux gives the first PID namespace this inode number (PROC_PID_INIT_INO). */
const HOST_PID_NAMESPACE = 'pid:[4026531836]';

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function pidNamespace(root: string): string | undefined {
  try {
    return readlinkSync(join(root, 'proc/self/ns/pid'));
  } catch {
    return undefined;
  }
}

/** Reads a few small files. Never throws: what can't be read counts as a plain machine. `root` is for tests. */
export function readEnvironment(root = '/'): Environment {
  const kernel = read(join(root, 'proc/sys/kernel/osrelease')) + read(join(root, 'proc/version'));
  const namespace = pidNamespace(root);
  return {
    wsl2: existsSync(join(root, 'dev/dxg')) || /microsoft-standard|wsl2/i.test(kernel),
    ownPidNamespace: namespace !== undefined && namespace !== HOST_PID_NAMESPACE,
  };
}
