import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';

const SETPRIV = '/usr/bin/setpriv';

/**
 * Runs a program in our place: same standard streams, its exit code is ours, and signals sent to us reach it.
 *
 * A Ctrl-C reaches the whole foreground group, and npm passes it on once more. The program is therefore in a session of
 * its own, and what arrives within half a second counts as one signal. Where util-linux is, it gets SIGTERM when we are
 * killed ourselves.
 */
export function handOver(program, args, options = {}) {
  const tied = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'TERM', program, ...args] : [program, ...args];
  const child = spawn(tied[0], tied.slice(1), { ...options, stdio: 'inherit', detached: true });
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
