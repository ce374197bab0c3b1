import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { SharedMemory } from '@zerohop/cuda-native';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { reap } from '../../src/index.js';
import { EntryNames, regionName } from '../../src/names.js';
import { abandon, abandonAgain, gone, takeAway } from '../support/abandoned.js';
import { FakeError, FakeTriton } from '../support/fake-triton.js';

let server: FakeTriton;

beforeEach(() => {
  server = new FakeTriton();
});

const elsewhere = { ...gone, pidNamespace: '1' };

const register = async (entry: string) => {
  const name = regionName(entry, 0);
  await server.systemSharedMemory.register({ name, key: `/${entry}`, byteLength: 4096 });
  return name;
};

test.for([
  ['this', gone],
  ['another', elsewhere],
] as const)('an unlocked entry of %s PID namespace goes, with its registration', async ([, maker]) => {
  const entry = abandon(maker);
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
  const [ours, theirs] = [abandon(gone), abandon(elsewhere)];
  const [oursRegion, theirsRegion] = [await register(ours), await register(theirs)];
  for (const entry of [ours, theirs]) takeAway(entry);
  const report = await reap(server);
  expect(report.unregistered).toEqual([oursRegion]);
  expect(server.regionNames).toEqual([theirsRegion]);
  expect(report.left.map(({ name }) => name)).toContain(theirs);
});

test("a server that does not count users is not asked: the dead owner's request may still run", async () => {
  server.version = '2.48.0';
  const region = await register(abandon());
  const report = await reap(server);
  expect(report.left.map(({ name }) => name)).toContain(region);
  expect(server.calls.unregister).toBe(0);
});

test('an entry that cannot be locked is left, with the reason, and the others go', async () => {
  const [first, third] = [abandon(), abandon()];
  // As another user's entry would be, for root too: it can't be opened.
  const second = new EntryNames(gone).next();
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
  const entry = abandon(elsewhere);
  const region = await register(entry);
  server.refuseUnregister = refusal;
  const report = await reap(server);
  expect(report.left).toContainEqual({ name: region, reason: refusal.message });
  expect(report.removed).not.toContain(entry);
  abandonAgain(entry);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(true);
  server.refuseUnregister = undefined;
  expect((await reap(server)).unregistered).toEqual([region]);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(false);
});

test('an entry is locked while its region is unregistered, and there until the server has let go', async () => {
  const entry = abandon(elsewhere);
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
  const name = `psm_somebody_${process.pid}`;
  (await SharedMemory.create(`/${name}`, 4096)).unlink();
  abandon(gone, name);
  await server.systemSharedMemory.register({ name, key: `/${name}`, byteLength: 4096 });
  const report = await reap(server);
  expect(JSON.stringify(report)).not.toContain(name);
  expect(server.regionNames).toEqual([name]);
});

test('an entry made under another kernel is left: its lock would not show here', async () => {
  const entry = abandon({ ...gone, bootId: '0'.repeat(32) });
  const region = await register(entry);
  const report = await reap(server);
  expect(report.left).toContainEqual({ name: entry, reason: expect.stringContaining('another kernel') as string });
  expect(server.regionNames).toEqual([region]);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(true);
});

test("a registration that was still on its way goes as well: it is carried out after the reaper's look", async () => {
  const entry = abandon(elsewhere);
  const { status } = server.systemSharedMemory;
  let looks = 0;
  server.systemSharedMemory.status = async (name) => {
    const regions = await status(name);
    looks += 1;
    if (looks === 1) await register(entry);
    return regions;
  };
  const report = await reap(server);
  expect(report.removed).toContain(entry);
  expect(report.unregistered).toEqual([regionName(entry, 0)]);
  expect(server.regionNames).toEqual([]);
});

test('two reapers at once share the work: each entry and region goes once, none is missed', async () => {
  const stale = Array.from({ length: 20 }, () => abandon(elsewhere));
  const regions = await Promise.all(stale.map(register));
  const [one, two] = await Promise.all([reap(server), reap(server)]);
  const mine = (name: string) => stale.includes(name);
  expect([...one.removed, ...two.removed].filter(mine).sort()).toEqual([...stale].sort());
  expect([...one.unregistered, ...two.unregistered].sort()).toEqual([...regions].sort());
  for (const { name, reason } of [...one.left, ...two.left]) if (mine(name)) expect(reason).toMatch(/another reaper/);
  expect(server.regionNames).toEqual([]);
});

test('regions in use are waited for side by side, and left to the next reaper in the end', async () => {
  const [first, second] = [abandon(elsewhere), abandon(elsewhere)];
  const names = [await register(first), await register(second)];
  server.refuseUnregister = new FakeError(
    'TRITON_INTERNAL',
    'Cannot unregister shared memory region, it is currently in use.',
  );
  const report = await reap(server);
  expect(report.left).toEqual(
    expect.arrayContaining(names.map((name) => ({ name, reason: 'it is still in use' }))) as unknown,
  );
  expect(report.removed).not.toContain(first);
});
