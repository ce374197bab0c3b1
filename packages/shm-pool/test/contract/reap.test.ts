import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { SharedMemory } from '@zerohop/cuda-native';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { reap } from '../../src/index.js';
import { EntryNames, regionName, thisMaker } from '../../src/names.js';
import { FakeError, FakeTriton } from '../support/fake-triton.js';

let server: FakeTriton;

beforeEach(() => {
  server = new FakeTriton();
});

/** A maker whose process is gone: its start ticks are no process's. */
const gone = { ...thisMaker(), startTicks: '1' };
const elsewhere = { ...gone, pidNamespace: '1' };

/** An entry without a lock, as kill -9 leaves it. */
function unlockedEntry(maker = gone): string {
  const entry = new EntryNames(maker).next();
  writeFileSync(`/dev/shm/${entry}`, new Uint8Array(4096));
  onTestFinished(() => rmSync(`/dev/shm/${entry}`, { force: true }));
  return entry;
}

const register = async (entry: string) => {
  const name = regionName(entry, 0);
  await server.systemSharedMemory.register({ name, key: `/${entry}`, byteLength: 4096 });
  return name;
};

test.for([
  ['this', gone],
  ['another', elsewhere],
] as const)('an unlocked entry of %s PID namespace goes, with its registration', async ([, maker]) => {
  const entry = unlockedEntry(maker);
  const region = await register(entry);
  const report = await reap(server);
  // Other tests' processes may leave entries too.
  expect(report.removed).toContain(entry);
  expect(report.unregistered).toEqual([region]);
  expect(server.regionNames).toEqual([]);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(false);
});

test('a locked entry stays, whoever its name says made it', async () => {
  const entry = new EntryNames(gone).next();
  const owner = await SharedMemory.create(`/${entry}`, 4096);
  const region = await register(entry);
  const report = await reap(server);
  expect(report.left).toContainEqual({ name: entry, reason: expect.stringMatching(/^its owner lives/) as string });
  expect(server.regionNames).toEqual([region]);
  owner.close();
});

test('without an entry here only a maker that is known to be gone counts', async () => {
  const [ours, theirs] = [unlockedEntry(gone), unlockedEntry(elsewhere)];
  const [oursRegion, theirsRegion] = [await register(ours), await register(theirs)];
  for (const entry of [ours, theirs]) rmSync(`/dev/shm/${entry}`);
  const report = await reap(server);
  expect(report.unregistered).toEqual([oursRegion]);
  expect(server.regionNames).toEqual([theirsRegion]);
  expect(report.left.map(({ name }) => name)).toContain(theirs);
});

test("a server that does not count users is not asked: the dead owner's request may still run", async () => {
  server.version = '2.48.0';
  const region = await register(unlockedEntry());
  const report = await reap(server);
  expect(report.left.map(({ name }) => name)).toContain(region);
  expect(server.calls.unregister).toBe(0);
});

test('an entry that cannot be locked is left, with the reason, and the others go', async () => {
  const [first, second, third] = [0, 1, 2].map(() => unlockedEntry()) as [string, string, string];
  // As another user's entry would be, for root too: it can't be opened.
  rmSync(`/dev/shm/${second}`);
  mkdirSync(`/dev/shm/${second}`);
  onTestFinished(() => rmSync(`/dev/shm/${second}`, { recursive: true }));
  const region = await register(first);
  const report = await reap(server);
  expect(report.unregistered).toEqual([region]);
  expect(report.removed).toEqual(expect.arrayContaining([first, third]));
  expect(report.left).toContainEqual({ name: second, reason: expect.stringContaining('EISDIR') as string });
});

test.for([
  ['refuses to unregister', new FakeError('TRITON_INTERNAL', 'no')],
  ['goes away', new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED')],
] as const)('a server that %s: the entry stays for the next reaper', async ([, refusal]) => {
  // Of another PID namespace, so that nothing but the entry can prove that the owner is gone.
  const entry = unlockedEntry(elsewhere);
  const region = await register(entry);
  server.refuseUnregister = refusal;
  const report = await reap(server);
  expect(report.left).toContainEqual({ name: region, reason: refusal.message });
  expect(report.removed).not.toContain(entry);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(true);
  server.refuseUnregister = undefined;
  expect((await reap(server)).unregistered).toEqual([region]);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(false);
});

test('an entry is locked while its region is unregistered, and there until the server has let go', async () => {
  const entry = unlockedEntry(elsewhere);
  const region = await register(entry);
  const { unregister } = server.systemSharedMemory;
  const seen: unknown[] = [];
  server.systemSharedMemory.unregister = async (name) => {
    seen.push(
      SharedMemory.tryLock(`/${entry}`),
      (await reap(server)).left.some(({ name }) => name === entry),
    );
    await unregister(name);
  };
  expect((await reap(server)).unregistered).toEqual([region]);
  expect(seen).toEqual(['locked', true]);
});

test("other people's regions and entries are not looked at", async () => {
  const name = 'psm_somebody';
  writeFileSync(`/dev/shm/${name}`, new Uint8Array(4096));
  onTestFinished(() => rmSync(`/dev/shm/${name}`));
  await server.systemSharedMemory.register({ name, key: `/${name}`, byteLength: 4096 });
  const report = await reap(server);
  expect(JSON.stringify(report)).not.toContain(name);
  expect(server.regionNames).toEqual([name]);
});
