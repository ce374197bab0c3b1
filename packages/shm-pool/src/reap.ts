/** Removes what crashed processes left: registrations with the server, and entries in /dev/shm. */
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AbandonedName, SharedMemory } from '@zerohop/cuda-native';
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

/** An entry's owner; when it is gone and left its entry, the entry's lock is ours. */
type Owner =
  | { readonly gone: true; readonly entry?: AbandonedName }
  | { readonly gone: false; readonly reason: string };

/**
 * Touches only names of this package whose owner is gone: the entry is here and its lock is free, or there is no entry
 * and the maker's boot and PID namespace are ours and that process is gone. Everything else is left and reported. An
 * entry goes after its registrations, and stays with those that the server would not give up, for the next reaper.
 * @throws the client's error when the server cannot be asked
 */
export async function reap(client: RegionClient): Promise<ReapReport> {
  const unregistered: string[] = [];
  const removed: string[] = [];
  const left: { name: string; reason: string }[] = [];
  const owners = new Map<string, Owner>();
  try {
    const { version } = await client.serverMetadata();
    // Locked before the server is asked for its regions: who is gone by then registers no more.
    for (const entry of await entriesHere()) owners.set(entry, ownerOf(entry));
    const registrations = await listRegistrations(client);
    for (const { entry } of registrations) if (!owners.has(entry)) owners.set(entry, ownerOf(entry));
    for (const [name, owner] of owners) {
      if (!owner.gone) {
        left.push({ name, reason: owner.reason });
        continue;
      }
      const before = left.length;
      for (const region of registrations.filter(({ entry }) => entry === name)) {
        const reason = await unregister(region, version);
        if (reason === undefined) unregistered.push(region.name);
        else left.push({ name: region.name, reason });
      }
      if (owner.entry === undefined || left.length > before) continue;
      const reason = remove(owner.entry);
      if (reason === undefined) removed.push(name);
      else left.push({ name, reason });
    }
  } finally {
    for (const owner of owners.values()) if (owner.gone) owner.entry?.close();
  }
  return { unregistered, removed, left };
}

/** Whether an entry's owner is gone. The lock is the proof, where there is an entry. */
function ownerOf(name: string): Owner {
  let entry: ReturnType<typeof SharedMemory.tryLock>;
  try {
    entry = SharedMemory.tryLock(`/${name}`);
  } catch (error) {
    // Another user's, as a rule.
    return { gone: false, reason: messageOf(error) };
  }
  if (entry === 'locked') return { gone: false, reason: 'its owner lives, or another reaper is at it' };
  if (entry !== 'absent') return { gone: true, entry };
  const maker = parseEntry(name);
  if (maker !== undefined && makerState(maker) === 'gone') return { gone: true };
  return { gone: false, reason: 'it has no entry here, and its owner is not known to be gone' };
}

/** Undefined when the entry is gone, else why it is not. */
function remove(entry: AbandonedName): string | undefined {
  try {
    entry.remove();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
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
