/**
 * Names of regions and of their entries in /dev/shm.
 *
 * An entry says who made it: `zerohop.<boot id>.<PID namespace>.<pid>.<start ticks>.<nonce>.<slot>`. A region is called
 * `<entry>.<registration>`, so that the entry of any region is found from its name, and a name is never used twice:
 * a request that the server has not parsed yet may still carry the old one.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { codeOf, PoolError } from './errors.js';

export const SHM_FOLDER = '/dev/shm';
const PREFIX = 'zerohop';
const ENTRY = /^zerohop\.([0-9a-f]{32})\.(\d+)\.(\d+)\.(\d+)\.([0-9a-f]{16})\.(\d+)$/;

/** Identifies a process on a host, across reboots, PID namespaces and reuse of process ids. */
export interface Maker {
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly startTicks: string;
}

/**
 * Start time of a process in clock ticks since boot (proc_pid_stat(5), field 22), and whether it has ended and is only
 * not waited for by its parent. Undefined when /proc does not show it.
 */
export function statOf(pid: number): { readonly startTicks: string | undefined; readonly ended: boolean } | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The second field is the command in parentheses and may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { startTicks: fields[19], ended: fields[0] === 'Z' || fields[0] === 'X' };
}

let self: Maker | undefined;

/** This process. Reads /proc once. @throws PoolError ERR_NATIVE_UNAVAILABLE elsewhere than on Linux */
export function thisMaker(): Maker {
  if (self === undefined) {
    const startTicks = statOf(process.pid)?.startTicks;
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

/** What all entry names of a process begin with, before a dot. */
export const stemOf = ({ bootId, pidNamespace, pid, startTicks }: Maker): string =>
  `${PREFIX}.${bootId}.${pidNamespace}.${pid}.${startTicks}`;

/** Makes the entry names of one pool; a nonce of its own keeps pools and worker threads apart. */
export class EntryNames {
  readonly #stem: string;
  #next = 0;

  constructor(maker: Maker = thisMaker()) {
    const nonce = randomBytes(8).toString('hex');
    this.#stem = `${stemOf(maker)}.${nonce}`;
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

/** Whether a maker's locks are those of this kernel. Files may be shared with other ones: virtual machines, sandboxes. */
export const isOfThisKernel = (maker: Maker): boolean => maker.bootId === thisMaker().bootId;

/**
 * Whether a maker is gone for certain. `'unknown'` for another boot or another PID namespace, where process ids mean
 * other processes, and for a process that is there and does not show since when.
 */
export function makerState(maker: Maker): 'alive' | 'gone' | 'unknown' {
  if (!isOfThisKernel(maker) || maker.pidNamespace !== thisMaker().pidNamespace) return 'unknown';
  const stat = statOf(maker.pid);
  if (stat !== undefined) return stat.startTicks === maker.startTicks && !stat.ended ? 'alive' : 'gone';
  // With hidepid, /proc does not show other users' processes.
  return isThere(maker.pid) ? 'unknown' : 'gone';
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
