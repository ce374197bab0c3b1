import { existsSync } from 'node:fs';

export const SETPRIV = '/usr/bin/setpriv';

/** Nobody sends the signal for a parent that ended before it was asked for (prctl(2), PR_SET_PDEATHSIG). */
const IF_STILL_A_CHILD = '[ "$PPID" = "$0" ] || kill -KILL $$; exec "$@"';

/**
 * A command as `spawn` and `execFile` take it, with which the program is killed as soon as the process that starts it is
 * gone, however that happens: a test runner that is killed runs no hooks. Its pid is the program's own. Without setpriv
 * (of util-linux) the command is what it was.
 *
 * @param parent Pid of the process that starts the program.
 *
 * @example
 * const child = spawn(...tied(process.execPath, [script]), { stdio: 'inherit' });
 */
export function tied(
  program: string,
  args: readonly string[],
  parent: number | string = process.pid,
): [program: string, args: string[]] {
  if (!existsSync(SETPRIV)) return [program, [...args]];
  return [SETPRIV, ['--pdeathsig', 'KILL', 'sh', '-c', IF_STILL_A_CHILD, String(parent), program, ...args]];
}
