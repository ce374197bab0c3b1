import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';

const SETPRIV = '/usr/bin/setpriv';

/** Nobody sends the signal for a parent that ended before it was asked for (prctl(2), PR_SET_PDEATHSIG). */
const IF_STILL_A_CHILD = '[ "$PPID" = "$0" ] || kill -TERM $$; exec "$@"';

/**
 * Runs a program in our place: same standard streams, its exit code is ours, and signals sent to us reach it.
 *
 * A Ctrl-C reaches the whole foreground group, and npm passes it on once more. The program is therefore in a session of
 * its own, and what arrives within half a second counts as one signal. Where util-linux is, it gets SIGTERM when we are
 * killed ourselves.
 */
export function handOver(program, args, options = {}) {
  const tie = [SETPRIV, '--pdeathsig', 'TERM', 'sh', '-c', IF_STILL_A_CHILD, String(process.pid)];
  const [first, ...rest] = [...(existsSync(SETPRIV) ? tie : []), program, ...args];
  const child = spawn(first, rest, { ...options, stdio: 'inherit', detached: true });
  const last = new Map();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const now = Date.now();
      if (now - (last.get(signal) ?? 0) < 500) return;
      last.set(signal, now);
      child.kill(signal);
    });
  }
  child.once('error', (error) => {
    console.error(`${program} does not start: ${error.message}`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
    process.exit();
  });
}
