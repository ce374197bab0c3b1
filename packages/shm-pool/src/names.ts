/**
 * Names of regions and of their entries in /dev/shm.
 *
 * An entry says who made it: `zerohop.<boot id>.<PID namespace>.<pid>.<start ticks>.<nonce>.<slot>`. A region is called
 * `<entry>.<registration>`, so that the entry of any region is found from its name, and a name is never used twice:
 * a request that the server has not parsed yet may still carry the old one.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { PoolError } from './errors.js';

const PREFIX = 'zerohop';
const ENTRY = /^zerohop\.([0-9a-f]{32})\.(\d+)\.(\d+)\.(\d+)\.([0-9a-f]{16})\.(\d+)$/;

/** Identifies a process on a host, across reboots, PID namespaces and reuse of process ids. */
export interface Maker {
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly startTicks: string;
}

/** Start time of a process in clock ticks since boot (proc_pid_stat(5), field 22), or undefined when it is gone. */
export function startTicksOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The second field is the command in parentheses and may itself hold spaces and parentheses.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

let self: Maker | undefined;

/** This process. Reads /proc once. @throws PoolError ERR_NATIVE_UNAVAILABLE elsewhere than on Linux */
export function thisMaker(): Maker {
  if (self === undefined) {
    const startTicks = startTicksOf(process.pid);
    if (startTicks === undefined) {
      throw new PoolError('ERR_NATIVE_UNAVAILABLE', 'Shared memory needs Linux with /proc mounted');
    }
    self = {
      bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim().replaceAll('-', ''),
      pidNamespace: /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0',
      pid: process.pid,
      startTicks,
    };
  }
  return self;
}

/** Makes the entry names of one pool; a nonce of its own keeps pools and worker threads apart. */
export class EntryNames {
  readonly #stem: string;
  #next = 0;

  constructor(maker: Maker = thisMaker()) {
    const nonce = randomBytes(8).toString('hex');
    this.#stem = `${PREFIX}.${maker.bootId}.${maker.pidNamespace}.${maker.pid}.${maker.startTicks}.${nonce}`;
  }

  next(): string {
    return `${this.#stem}.${this.#next++}`;
  }
}

/** The name of a region in its `registration`-th registration (from 0). */
export const regionName = (entry: string, registration: number): string => `${entry}.${registration}`;

/** The entry that belongs to a region's name, or undefined when the name is not one of this package's. */
export function entryOfRegion(region: string): string | undefined {
  const dot = region.lastIndexOf('.');
  const entry = region.slice(0, Math.max(dot, 0));
  return /^\d+$/.test(region.slice(dot + 1)) && parseEntry(entry) !== undefined ? entry : undefined;
}

/** Who made an entry, or undefined when the name is not one of this package's. */
export function parseEntry(entry: string): Maker | undefined {
  const match = ENTRY.exec(entry);
  if (match === null) return undefined;
  const [, bootId = '', pidNamespace = '', pid = '', startTicks = ''] = match;
  return { bootId, pidNamespace, pid: Number(pid), startTicks };
}

/**
 * Whether a maker is gone for certain. `'unknown'` for another boot of another host or another PID namespace: its
 * process ids say nothing here.
 */
export function makerState(maker: Maker): 'alive' | 'gone' | 'unknown' {
  const here = thisMaker();
  if (maker.bootId !== here.bootId || maker.pidNamespace !== here.pidNamespace) return 'unknown';
  return startTicksOf(maker.pid) === maker.startTicks ? 'alive' : 'gone';
}
