import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CodeRepository, type ModelDefinition } from '../../src/repository/code.js';
import { FolderRepository } from '../../src/repository/folder.js';
import { ModelManager, type ModelManagerOptions } from '../../src/repository/manager.js';
import { parseVersion } from '../../src/repository/version-text.js';
import type { ServerError } from '../../src/status.js';
import { type DirectRunner, makeDirectRunner } from '../support/direct-runner.js';
import { heldBytes } from '../support/memory.js';
import { breakModel, PLAIN, writeModel } from '../support/model-folders.js';

const context = { serverVersion: '2.51.0', gpus: 0 };
const execute = () => ({});
const TENSORS = {
  input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
  output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
} as const;

function managerOf(models: Record<string, ModelDefinition>, options: Partial<ModelManagerOptions> = {}): ModelManager {
  const manager = new ModelManager({
    repositories: [new CodeRepository(models, context)],
    context,
    control: 'explicit',
    makeRunner: makeDirectRunner,
    ...options,
  });
  onTestFinished(() => manager.close());
  return manager;
}

function folderManager(): { manager: ModelManager; path: string } {
  const path = mkdtempSync(join(tmpdir(), 'zerohop-devserver-'));
  const manager = managerOf({}, { repositories: [new FolderRepository(path, context)] });
  onTestFinished(() => rmSync(path, { recursive: true }));
  return { manager, path };
}

function ensemble(...parts: string[]): ModelDefinition {
  const step = parts.map((model_name, index) => ({
    model_name,
    model_version: -1,
    input_map: { INPUT0: index === 0 ? 'INPUT0' : `t${index}` },
    output_map: { OUTPUT0: index === parts.length - 1 ? 'OUTPUT0' : `t${index + 1}` },
  }));
  return { config: { platform: 'ensemble', ...TENSORS, ensemble_scheduling: { step } } };
}

const part: ModelDefinition = { config: TENSORS, execute };
const states = (manager: ModelManager) =>
  Object.fromEntries(manager.index(false).map(({ name, version, state }) => [`${name}/${version ?? ''}`, state]));
const tick = () => new Promise((resolve) => setTimeout(resolve, 5));

test.each([
  ['', undefined],
  ['1', 1n],
  ['0', 0n],
  ['01', 1n],
  ['1x', 1n],
  [' 2', 2n],
  ['\t+2', 2n],
  ['2.5', 2n],
  ['9223372036854775807', 2n ** 63n - 1n],
])('version %j is %s, as stol reads it', (text, version) => {
  expect(parseVersion(text)).toBe(version);
});

test('texts for what is no version', () => {
  expect(() => parseVersion('-1')).toThrow(
    "invalid model version specified '-1' , version should be an integral value > 0",
  );
  for (const text of ['x', ' ', '+', '99999999999999999999', '-99999999999999999999']) {
    expect(() => parseVersion(text)).toThrow(
      `failed to get model version from specified version string '${text}' (details: stol), version should be an integral value > 0`,
    );
  }
});

test('control none: everything is loaded at the start, and clients may not load or unload', async () => {
  const broken: ModelDefinition = {
    create: () => {
      throw new RangeError('boom');
    },
  };
  const unread: ModelDefinition = { config: { max_batch_size: -1 }, execute };
  const manager = managerOf({ a: part, e: ensemble('a'), broken, unread }, { control: 'none' });
  const failed = await manager.start();
  expect([...failed.keys()].sort()).toEqual(['broken', 'unread']);
  expect(failed.get('broken')?.message).toMatch(
    /^load failed for model 'broken': version 1 is at UNAVAILABLE state: Internal: RangeError: boom\n\nAt:\n {2}\/.*manager\.test\.ts\(\d+\): create\n;\n$/,
  );
  expect(failed.get('unread')?.message).toBe("failed to load 'unread', failed to poll from model repository");
  expect(failed.get('unread')?.cause).toMatchObject({
    message: "'max_batch_size' must be non-negative value for unread",
  });
  expect(states(manager)).toEqual({ 'a/1': 'READY', 'broken/1': 'UNAVAILABLE', 'e/1': 'READY', 'unread/': undefined });
  const text = 'explicit model load / unload is not allowed if polling is enabled';
  await expect(manager.load('a', {})).rejects.toMatchObject({ code: 'UNAVAILABLE', message: text });
  await expect(manager.unload('a', false)).rejects.toMatchObject({ code: 'UNAVAILABLE', message: text });
});

test('readiness: strict unless told otherwise, not while a model loads or unloads, and an unloaded model is no fault', async () => {
  let go = () => {};
  const slow: ModelDefinition = {
    create: () => new Promise((resolve) => (go = () => resolve({ execute }))),
  };
  const bad: ModelDefinition = { config: TENSORS };
  const manager = managerOf({ slow, bad });
  const loading = manager.load('slow', {});
  await expect.poll(() => states(manager)['slow/1']).toBe('LOADING');
  expect(manager.ready).toBe(false);
  expect(() => manager.find('slow', '1')).toThrow("Request for unknown model: 'slow' version 1 is not at ready state");
  expect(() => manager.find('slow', '')).toThrow("Request for unknown model: 'slow' has no available versions");
  go();
  await loading;
  expect(manager.ready).toBe(true);
  const finish = (manager.find('slow', '') as DirectRunner).begin();
  await manager.unload('slow', false);
  expect(states(manager)['slow/1']).toBe('UNLOADING');
  expect(manager.ready).toBe(false);
  finish();
  await expect.poll(() => manager.index(false)[1]).toMatchObject({ state: 'UNAVAILABLE', reason: 'unloaded' });
  expect(manager.ready).toBe(true);
  await expect(manager.load('bad', {})).rejects.toMatchObject({ code: 'INVALID_ARG' });
  expect(manager.ready).toBe(false);
  const lenient = managerOf({ bad }, { strictReadiness: false });
  await expect(lenient.load('bad', {})).rejects.toThrow('load failed');
  expect(lenient.ready).toBe(true);
});

test('unloading: new requests are refused at once, those under way finish, and only then the model is closed', async () => {
  let closed = 0;
  const manager = managerOf({ m: { create: () => ({ execute, close: () => void closed++ }) } });
  await manager.load('m', {});
  const finish = (manager.find('m', '1') as DirectRunner).begin();
  await manager.unload('m', false);
  const refused = (version: string): ServerError | undefined => {
    try {
      manager.find('m', version);
      return undefined;
    } catch (error) {
      return error as ServerError;
    }
  };
  expect(refused('')).toMatchObject({ code: 'NOT_FOUND' });
  expect(refused('1')).toMatchObject({ code: 'UNAVAILABLE' });
  await tick();
  expect(closed).toBe(0);
  // A load meanwhile has its own instance.
  await manager.load('m', {});
  expect(states(manager)).toEqual({ 'm/1': 'READY' });
  finish();
  await expect.poll(() => closed).toBe(1);
  expect(states(manager)).toEqual({ 'm/1': 'READY' });
  expect(manager.modelReady('m', '')).toBe(true);
});

test('a model that fails to close is unloaded all the same', async () => {
  const close = () => Promise.reject(new Error('no'));
  const manager = managerOf({ m: { create: () => ({ execute, close }) } });
  await manager.load('m', {});
  await manager.unload('m', false);
  await expect
    .poll(() => manager.index(false))
    .toEqual([{ name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' }]);
});

test('a load of what runs and has not changed does nothing; a failed one leaves what runs', async () => {
  const { manager, path } = folderManager();
  writeModel(join(path, 'm'), PLAIN);
  await manager.load('m', {});
  const first = manager.find('m', '');
  await manager.load('m', {});
  expect(manager.find('m', '')).toBe(first);
  utimesSync(join(path, 'm', '1', 'model.mjs'), 1, 1);
  await manager.load('m', {});
  const second = manager.find('m', '');
  expect(second).not.toBe(first);
  breakModel(join(path, 'm'));
  const file = join(path, 'm', '1', 'model.mjs');
  const failure =
    "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: RangeError: boom\n\n" +
    `At:\n  ${file}(1): <module>\n;\n`;
  await expect(manager.load('m', {})).rejects.toThrow(failure);
  await expect(manager.load('m', {})).rejects.toThrow(failure);
  expect(manager.find('m', '')).toBe(second);
  writeFileSync(join(path, 'm', 'config.pbtxt'), 'junk');
  await expect(manager.load('m', {})).rejects.toThrow("failed to load 'm', failed to poll from model repository");
  expect(manager.find('m', '')).toBe(second);
  expect(manager.ready).toBe(true);
});

test('a configuration that came with a load stays until the model is unloaded or its files change', async () => {
  const { manager, path } = folderManager();
  writeModel(join(path, 'm'), PLAIN);
  const batch = () => manager.config('m', '').max_batch_size;
  await manager.load('m', { config: '{"max_batch_size":2}' });
  await manager.load('m', {});
  expect(batch()).toBe(2);
  await expect(manager.load('m', { config: '{"foo":1}' })).rejects.toMatchObject({ code: 'INTERNAL' });
  expect(batch()).toBe(2);
  await manager.unload('m', false);
  await manager.load('m', {});
  expect(batch()).toBe(0);
  await manager.load('m', { config: '{"max_batch_size":2}' });
  writeFileSync(join(path, 'm', 'note.txt'), 'changed');
  await manager.load('m', {});
  expect(batch()).toBe(0);
});

test('a model of files: not in the index, and its folder goes with it', async () => {
  const manager = managerOf({});
  const model = 'export default () => import.meta.url;';
  const files = new Map([['2/model.mjs', new TextEncoder().encode(model)]]);
  await manager.load('fresh', { config: '{}', files });
  expect(manager.index(false)).toEqual([]);
  expect(manager.metadata('fresh', '').versions).toEqual(['2']);
  await expect(manager.load('fresh', {})).rejects.toThrow('failed to poll');
  const { instance } = manager.find('fresh', '') as DirectRunner;
  const url = new URL((instance.execute as unknown as () => string)());
  expect(existsSync(url)).toBe(true);
  await manager.unload('fresh', false);
  await expect.poll(() => existsSync(url)).toBe(false);
});

test('ensembles bring their parts, go and come back with them', async () => {
  const manager = managerOf({ a: part, b: part, e: ensemble('a', 'b'), outer: ensemble('e') });
  await manager.load('outer', {});
  const all = (state: string) => ({ 'a/1': state, 'b/1': state, 'e/1': state, 'outer/1': state });
  expect(states(manager)).toEqual(all('READY'));
  await manager.unload('a', false);
  await expect.poll(() => states(manager)).toEqual({ ...all('UNAVAILABLE'), 'b/1': 'READY' });
  await manager.load('a', {});
  await expect.poll(() => states(manager)).toEqual(all('READY'));
  await manager.unload('outer', true);
  // The part that was loaded by name stays.
  await expect.poll(() => states(manager)).toEqual({ ...all('UNAVAILABLE'), 'a/1': 'READY' });
});

test('ensembles that need each other are refused, also when both are loaded at once', async () => {
  const manager = managerOf({ x: ensemble('y'), y: ensemble('x') }, { control: 'none' });
  const failed = await manager.start();
  expect(failed.get('x')?.message).toContain('circular dependency between ensembles: x -> ... -> y -> x');
  expect(failed.get('y')?.message).toContain('circular dependency between ensembles: y -> ... -> x -> y');
});

test('an unload during a load takes down what the load brings; a load during that brings it again', async () => {
  const closed: number[] = [];
  let made = 0;
  const create = async () => {
    made += 1;
    const number = made;
    await tick();
    return { execute, close: () => void closed.push(number) };
  };
  const manager = managerOf({ m: { config: TENSORS, create } });
  const loading = manager.load('m', {});
  const unloading = manager.unload('m', false);
  await Promise.all([loading, unloading]);
  await expect.poll(() => manager.index(false)).toMatchObject([{ state: 'UNAVAILABLE', reason: 'unloaded' }]);
  expect(closed).toEqual([1]);
  await Promise.all([manager.load('m', {}), manager.unload('m', false), manager.load('m', {})]);
  expect([states(manager), made]).toEqual([{ 'm/1': 'READY' }, 3]);
});

test('close waits for a load under way, takes down what it brings, and no other load begins', async () => {
  let open = 0;
  const create = async () => {
    open += 1;
    await tick();
    const close = () => {
      open -= 1;
    };
    return { execute, close };
  };
  const manager = managerOf({ a: { config: TENSORS, create }, e: ensemble('a'), b: { config: TENSORS, create } });
  const loading = [manager.load('e', {}), manager.load('b', {})];
  await manager.close();
  expect([open, states(manager)]).toEqual([0, { 'a/1': 'UNAVAILABLE', 'b/1': 'UNAVAILABLE', 'e/1': 'UNAVAILABLE' }]);
  expect(await Promise.allSettled(loading)).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
  await expect(manager.load('a', {})).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'Server not ready' });
});

test('what many ensembles need is read once for each of them at most', async () => {
  let reads = 0;
  const counted: ModelDefinition = {
    execute,
    get config() {
      reads += 1;
      return TENSORS;
    },
  };
  const names = Array.from({ length: 12 }, (_, level) => level);
  const levels = names.flatMap((level): [string, ModelDefinition][] => {
    const below = level === 0 ? ['base', 'base'] : [`l${level - 1}`, `r${level - 1}`];
    return [
      [`l${level}`, ensemble(...below)],
      [`r${level}`, ensemble(...below)],
    ];
  });
  const manager = managerOf({ base: counted, ...Object.fromEntries(levels) });
  await manager.load('l11', {});
  expect(manager.runners()).toHaveLength(1 + 2 * 11 + 1);
  expect(reads).toBe(1);
});

test('names that are none leave nothing behind', async () => {
  const manager = managerOf({});
  const name = (index: number) => `${index}${Buffer.alloc(100_000, 'x').toString('latin1')}`;
  const before = await heldBytes();
  for (let index = 0; index < 200; index += 1) {
    await manager.load(name(index), {}).catch(() => undefined);
  }
  expect((await heldBytes()) - before).toBeLessThan(5_000_000);
});

test('a model in code may be an object with a state of its own', async () => {
  class Counter {
    #count = 0;
    execute() {
      this.#count++;
      return { count: this.#count } as never;
    }
  }
  const manager = managerOf({ m: new Counter() });
  await manager.load('m', {});
  const { instance } = manager.find('m', '') as DirectRunner;
  expect([instance.execute?.({} as never), instance.execute?.({} as never)]).toEqual([{ count: 1 }, { count: 2 }]);
});

test('a name in two repositories is in the index once, and is not loaded', async () => {
  const repositories = [new CodeRepository({ m: part }, context), new CodeRepository({ m: part, n: part }, context)];
  const manager = managerOf({}, { repositories });
  expect(manager.index(false)).toEqual([{ name: 'm' }, { name: 'n' }]);
  await expect(manager.load('m', {})).rejects.toMatchObject({
    message: "failed to load 'm', failed to poll from model repository",
    cause: { message: 'not unique across all model repositories' },
  });
});

test('statistics: of all, of a model, of a version, and the texts for what there is none of', async () => {
  const manager = managerOf({ m: { ...part, versions: [1, 2, 10], config: { version_policy: { all: {} } } }, n: part });
  await manager.start(['m', 'n']);
  const of = (name: string, version: string) =>
    manager.statistics(name, version).map((each) => `${each.name}/${each.version}`);
  expect(of('', '')).toEqual(['m/1', 'm/2', 'm/10', 'n/1']);
  expect(of('m', '')).toEqual(['m/1', 'm/2', 'm/10']);
  expect(of('m', '2')).toEqual(['m/2']);
  expect(() => of('nope', '')).toThrow("requested model 'nope' is not available");
  expect(() => of('m', '3')).toThrow("requested model version is not available for model 'm'");
  expect(manager.runners()).toHaveLength(4);
});

test('close: all are taken down, and it waits for their requests', async () => {
  const manager = managerOf({ m: part });
  await manager.load('m', {});
  const finish = (manager.find('m', '') as DirectRunner).begin();
  let ended = false;
  const closing = manager.close().then(() => (ended = true));
  await tick();
  expect(() => manager.find('m', '')).toThrow('has no available versions');
  expect(ended).toBe(false);
  finish();
  await closing;
  expect(manager.index(false)).toEqual([{ name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' }]);
});
