/** Removes what crashed processes left: registrations with the server, and entries in /dev/shm. */
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { SharedMemory } from '@zerohop/cuda-native';
import type { RegionClient } from './client.js';
import { messageOf } from './errors.js';
import { entryOfRegion, makerState, parseEntry } from './names.js';
import { countsRegionUsers, isInUse } from './server-texts.js';

const SHM_FOLDER = '/dev/shm';
/** How long one registration may stay in use before it is left to the next reaper, in milliseconds. */
const IN_USE_LIMIT_MS = 5000;

export interface ReapReport {
  /** Regions unregistered. */
  readonly unregistered: readonly string[];
  /** Entries removed from /dev/shm. */
  readonly removed: readonly string[];
  /** What was left alone, and why. */
  readonly left: readonly { readonly name: string; readonly reason: string }[];
}

interface Registration {
  readonly name: string;
  readonly entry: string;
  unregister(): Promise<void>;
  isListed(): Promise<boolean>;
}

/**
 * Touches only names of this package whose owner is gone: the entry is here and its lock is free, or there is no entry
 * and the maker's boot and PID namespace are ours and that process is gone. Everything else is left and reported.
 * @throws the client's error when the server cannot be asked
 */
export async function reap(client: RegionClient): Promise<ReapReport> {
  const unregistered: string[] = [];
  const removed: string[] = [];
  const left: { name: string; reason: string }[] = [];
  const { version } = await client.serverMetadata();
  const registrations = await listRegistrations(client);
  const entries = new Set([...registrations.map(({ entry }) => entry), ...(await entriesHere())]);
  for (const entry of entries) {
    const state = ownerState(entry);
    const regions = registrations.filter((registration) => registration.entry === entry);
    if (state.over) {
      if (state.removed) removed.push(entry);
      for (const region of regions) {
        const reason = await unregister(region, version);
        if (reason === undefined) unregistered.push(region.name);
        else left.push({ name: region.name, reason });
      }
    } else {
      left.push({ name: entry, reason: state.reason });
    }
  }
  return { unregistered, removed, left };
}

/** Whether an entry's owner is gone. Removes the entry when its lock is free: the lock is the proof. */
function ownerState(entry: string): { over: true; removed: boolean } | { over: false; reason: string } {
  const outcome = SharedMemory.tryRemove(`/${entry}`);
  if (outcome === 'removed') return { over: true, removed: true };
  if (outcome === 'locked') return { over: false, reason: 'its owner lives' };
  const maker = parseEntry(entry);
  if (maker !== undefined && makerState(maker) === 'gone') return { over: true, removed: false };
  return { over: false, reason: 'it has no entry here, and its owner is not known to be gone' };
}

/** Undefined when the region is gone, else why it is not. */
async function unregister(region: Registration, version: string): Promise<string | undefined> {
  // The dead owner's last request may still run: older servers crash when its region goes.
  if (!countsRegionUsers(version)) return `a server of version '${version}' does not count a region's users`;
  const deadline = performance.now() + IN_USE_LIMIT_MS;
  for (let delayMs = 1; performance.now() < deadline; delayMs = Math.min(delayMs * 2, 50)) {
    try {
      await region.unregister();
      if (!(await region.isListed())) return undefined;
    } catch (error) {
      if (!isInUse(error)) return messageOf(error);
    }
    await sleep(delayMs);
  }
  return `it is still in use after ${IN_USE_LIMIT_MS} ms`;
}

async function listRegistrations(client: RegionClient): Promise<Registration[]> {
  const kinds = [client.systemSharedMemory, client.cudaSharedMemory];
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const regions = await kind.status();
      return regions.flatMap(({ name }): Registration[] => {
        const entry = entryOfRegion(name);
        if (entry === undefined) return [];
        const isListed = async () => (await kind.status(name)).length > 0;
        return [{ name, entry, isListed, unregister: () => kind.unregister(name) }];
      });
    }),
  );
  return lists.flat();
}

async function entriesHere(): Promise<string[]> {
  const names = await readdir(SHM_FOLDER);
  return names.filter((name) => parseEntry(name) !== undefined);
}
