import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { SharedMemory } from '@zerohop/cuda-native';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { reap } from '../../src/index.js';
import { EntryNames, regionName, thisMaker } from '../../src/names.js';
import { FakeTriton } from '../support/fake-triton.js';

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
  expect(await reap(server)).toMatchObject({ removed: [entry], unregistered: [region] });
  expect(server.regionNames).toEqual([]);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(false);
});

test('a locked entry stays, whoever its name says made it', async () => {
  const entry = new EntryNames(gone).next();
  const owner = await SharedMemory.create(`/${entry}`, 4096);
  const region = await register(entry);
  const report = await reap(server);
  expect(report.left).toContainEqual({ name: entry, reason: 'its owner lives' });
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

test("other people's regions and entries are not looked at", async () => {
  const name = 'psm_somebody';
  writeFileSync(`/dev/shm/${name}`, new Uint8Array(4096));
  onTestFinished(() => rmSync(`/dev/shm/${name}`));
  await server.systemSharedMemory.register({ name, key: `/${name}`, byteLength: 4096 });
  const report = await reap(server);
  expect(JSON.stringify(report)).not.toContain(name);
  expect(server.regionNames).toEqual([name]);
});
