/** Removes what crashed processes left: registrations with the server, and entries in /dev/shm. */
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AbandonedName, SharedMemory } from '@zerohop/cuda-native';
import { checkRegionClient } from './check-client.js';
import type { RegionClient } from './client.js';
import { messageOf } from './errors.js';
import { entryOfRegion, isOfThisKernel, makerState, parseEntry, SHM_FOLDER } from './names.js';
import { countsRegionUsers, isInUse } from './server-texts.js';
import { within } from './settle.js';

/** How long registrations may stay in use before they are left to the next reaper, in milliseconds. */
const IN_USE_LIMIT_MS = 5000;
/** Calls to the server at a time. */
const AT_A_TIME = 16;

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
  | { readonly gone: false; readonly hasEntry: boolean; readonly reason: string };

/**
 * Touches only names of this package whose owner is gone: the entry is here and its lock is free, or there is no entry
 * and the maker's boot and PID namespace are ours and that process is gone. Everything else is left and reported. An
 * entry goes after its registrations, and stays with those that the server would not give up, for the next reaper.
 * @throws the client's error when the server cannot be asked; TypeError for a client that is none
 */
export async function reap(client: RegionClient): Promise<ReapReport> {
  checkRegionClient(client);
  const { version } = await client.serverMetadata();
  // Locked before the server is asked for its regions: who is gone by then registers no more.
  const owners = await ownersHere(ownerOf);
  return whileLocked(owners, () => reapOwners(client, version, owners));
}

/**
 * As `reap`, before a pool is opened: looks into /dev/shm, and asks the server only when there is an entry whose owner is
 * gone. What fails is left to the next reaper, and so is what takes longer than `signal` allows.
 */
export async function reapBeforeOpening(client: RegionClient, signal: AbortSignal | undefined): Promise<void> {
  let owners: Map<string, Owner>;
  try {
    owners = await ownersHere(ownerIfStale);
  } catch {
    // No addon for this platform.
    return;
  }
  if (owners.size === 0) return;
  const reaping = whileLocked(owners, async () => {
    const { version } = await client.serverMetadata();
    await reapOwners(client, version, owners, signal);
  });
  await within(reaping, { signal }).catch(() => undefined);
}

/** Gives up the locks of entries that are still there when `work` is over. */
async function whileLocked<T>(owners: ReadonlyMap<string, Owner>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    for (const owner of owners.values()) if (owner.gone) owner.entry?.close();
  }
}

async function reapOwners(
  client: RegionClient,
  version: string,
  owners: Map<string, Owner>,
  signal?: AbortSignal,
): Promise<ReapReport> {
  const unregistered: string[] = [];
  const removed: string[] = [];
  const left: { name: string; reason: string }[] = [];
  const deadline = performance.now() + IN_USE_LIMIT_MS;
  const registrations = await listRegistrations(client);
  for (const { entry } of registrations) if (!owners.has(entry)) owners.set(entry, ownerOf(entry));

  /** @returns whether all of them are gone */
  const unregisterAll = async (regions: readonly Registration[]): Promise<boolean> => {
    let all = true;
    for (const region of regions) {
      const reason = await unregister(region, version, deadline, signal);
      if (reason === undefined) unregistered.push(region.name);
      else left.push({ name: region.name, reason });
      all &&= reason === undefined;
    }
    return all;
  };

  await forEach(owners, async ([name, owner]) => {
    if (!owner.gone) {
      left.push({ name, reason: owner.reason });
      return;
    }
    const its = registrations.filter(({ entry }) => entry === name);
    if (!(await unregisterAll(its)) || owner.entry === undefined) return;
    const reason = remove(owner.entry);
    if (reason === undefined) removed.push(name);
    else left.push({ name, reason });
  });
  const uncertain = (name: string) => {
    const owner = owners.get(name);
    return owner?.gone === false && !owner.hasEntry;
  };
  if (removed.length === 0 && !left.some(({ name }) => uncertain(name))) return { unregistered, removed, left };

  const since = await listRegistrations(client);
  // What an owner sent with its last breath may have been carried out after the first look. Without its entry, no more is.
  await forEach(
    since.filter(({ entry }) => removed.includes(entry)),
    async (region) => void (await unregisterAll([region])),
  );
  // Another reaper may have been at it at the time of the first look.
  const isThere = ({ name }: { readonly name: string }) =>
    !uncertain(name) || since.some(({ entry }) => entry === name);
  return { unregistered, removed, left: left.filter(isThere) };
}

async function forEach<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const next = async (): Promise<void> => {
    for (let item = rest.next(); item.done !== true; item = rest.next()) await work(item.value);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, next));
}

/** Whether an entry's owner is gone. The lock is the proof, where there is an entry. */
function ownerOf(name: string): Owner {
  const maker = parseEntry(name);
  if (maker === undefined || !isOfThisKernel(maker)) {
    return { gone: false, hasEntry: true, reason: 'it was made under another kernel, whose locks do not show here' };
  }
  let entry: ReturnType<typeof SharedMemory.tryLock>;
  try {
    entry = SharedMemory.tryLock(`/${name}`);
  } catch (error) {
    // Another user's, as a rule.
    return { gone: false, hasEntry: true, reason: messageOf(error) };
  }
  if (entry === 'locked') {
    return { gone: false, hasEntry: true, reason: 'its owner lives, or another reaper is at it' };
  }
  if (entry !== 'absent') return { gone: true, entry };
  if (makerState(maker) === 'gone') return { gone: true };
  return { gone: false, hasEntry: false, reason: 'it has no entry here, and its owner is not known to be gone' };
}

/** As `ownerOf`, for entries whose owner is gone: a process, or a worker thread of one that lives. */
function ownerIfStale(name: string): Owner | undefined {
  const owner = ownerOf(name);
  return owner.gone && owner.entry !== undefined ? owner : undefined;
}

/** The entries here, with their owners; those that `find` does not tell are left out. */
async function ownersHere(find: (name: string) => Owner | undefined): Promise<Map<string, Owner>> {
  const owners = new Map<string, Owner>();
  for (const name of await readdir(SHM_FOLDER)) {
    const owner = parseEntry(name) === undefined ? undefined : find(name);
    if (owner !== undefined) owners.set(name, owner);
  }
  return owners;
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
async function unregister(
  region: Registration,
  version: string,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  // The dead owner's last request may still run: older servers crash when its region goes.
  if (!countsRegionUsers(version)) return `a server of version '${version}' does not count a region's users`;
  for (let delayMs = 1; !signal?.aborted; delayMs = Math.min(delayMs * 2, 50)) {
    try {
      await region.unregister();
      if (!(await region.isListed())) return undefined;
    } catch (error) {
      if (!isInUse(error)) return messageOf(error);
    }
    if (performance.now() > deadline) break;
    await sleep(delayMs);
  }
  return 'it is still in use';
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
