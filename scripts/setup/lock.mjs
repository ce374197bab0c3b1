import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { home } from './paths.mjs';

const path = join(home, 'setup.lock');

/** Start of a process in clock ticks since boot: with the pid it names one process for good. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function holder() {
  try {
    const [pid, start] = readFileSync(path, 'utf8').split(' ');
    return { pid, alive: startOf(pid) === start };
  } catch {
    return undefined;
  }
}

/** Waits until no other set-up works in this clone, then keeps others out until the function returned is called. */
export async function lock() {
  mkdirSync(home, { recursive: true });
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, `${process.pid} ${startOf(process.pid)}`);
  let told = false;
  for (;;) {
    try {
      // A link appears whole or not at all.
      linkSync(mine, path);
      rmSync(mine, { force: true });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const other = holder();
    if (other !== undefined && !other.alive) {
      // Whoever renames it first has removed it; the name is then free for all.
      try {
        renameSync(path, `${mine}.stale`);
        rmSync(`${mine}.stale`, { force: true });
      } catch {
        // Someone else did.
      }
      continue;
    }
    if (!told && other !== undefined) console.error(`Waiting for another set-up of this clone (pid ${other.pid})`);
    told = true;
    await delay(200);
  }
  const release = () => rmSync(path, { force: true });
  process.once('exit', release);
  return () => {
    process.off('exit', release);
    release();
  };
}
