import { existsSync } from 'node:fs';

export const SETPRIV = '/usr/bin/setpriv';

/**
 * A command as `spawn` and `execFile` take it, with which the program is killed as soon as the process that starts it is
 * gone, however that happens: a test runner that is killed runs no hooks. Its pid is the program's own. Without setpriv
 * (of util-linux) the command is what it was.
 *
 * @example
 * const child = spawn(...tied(process.execPath, [script]), { stdio: 'inherit' });
 */
export function tied(program: string, args: readonly string[]): [program: string, args: string[]] {
  return existsSync(SETPRIV) ? [SETPRIV, ['--pdeathsig', 'KILL', program, ...args]] : [program, [...args]];
}
