import { expect, onTestFinished, test } from 'vitest';
import { CodeRepository, type ModelDefinition } from '../../src/repository/code.js';
import { ModelManager } from '../../src/repository/manager.js';
import { Random } from '../support/differential/random.js';
import { makeDirectRunner } from '../support/direct-runner.js';

const context = { serverVersion: '2.51.0', gpus: 0 };
const tensors = (type: 'TYPE_FP32' | 'TYPE_INT32') =>
  ({
    input: [{ name: 'X', data_type: type, dims: [-1] }],
    output: [{ name: 'Y', data_type: 'TYPE_FP32', dims: [-1] }],
  }) as const;
const part: ModelDefinition = { config: tensors('TYPE_FP32'), execute: () => ({}) };
const FITS = JSON.stringify(tensors('TYPE_FP32'));
const UNFIT = JSON.stringify(tensors('TYPE_INT32'));

function ensembleConfig(name: string) {
  const step = [{ model_name: name, model_version: -1, input_map: { X: 'X' }, output_map: { Y: 'Y' } }];
  return { platform: 'ensemble', ...tensors('TYPE_FP32'), ensemble_scheduling: { step } } as const;
}
const ensemble = (name: string): ModelDefinition => ({ config: ensembleConfig(name) });

function managerOf(models: Record<string, ModelDefinition>): ModelManager {
  const repositories = [new CodeRepository(models, context)];
  const manager = new ModelManager({ repositories, context, control: 'explicit', makeRunner: makeDirectRunner });
  onTestFinished(() => manager.close());
  return manager;
}

const ready = (manager: ModelManager) => manager.index(true).map(({ name }) => name);

test('an ensemble goes when a part does not fit any more, with those above it, and comes back when it fits again', async () => {
  const manager = managerOf({ a: part, e: ensemble('a'), outer: ensemble('e'), other: ensemble('b'), b: part });
  await manager.load('outer', {});
  await manager.load('other', {});
  await manager.load('a', { config: UNFIT });
  expect(ready(manager)).toEqual(['a', 'b', 'other']);
  const why =
    'in ensemble e, ensemble tensor X: inconsistent data type: TYPE_FP32 is inferred from model e while TYPE_INT32 is inferred from model a';
  await expect(manager.load('outer', {})).rejects.toMatchObject({
    code: 'INVALID_ARG',
    message: `load failed for model 'outer': ensemble 'outer' depends on 'e' which is not valid. Model 'e' failed with error: ${why}\n`,
  });
  await manager.load('a', { config: FITS });
  expect(ready(manager)).toEqual(['a', 'b', 'e', 'other', 'outer']);
});

test('an ensemble that was never there comes with its part, and is not tried again without a change', async () => {
  const manager = managerOf({ a: part, e: ensemble('a') });
  await manager.load('a', { config: UNFIT });
  await expect(manager.load('e', {})).rejects.toMatchObject({ code: 'INVALID_ARG' });
  await expect(manager.load('e', {})).rejects.toMatchObject({
    code: 'INTERNAL',
    message: "failed to load 'e', no version is available",
  });
  await manager.load('a', { config: FITS });
  expect(ready(manager)).toEqual(['a', 'e']);
});

test('what came with the load of an ensemble stays with it, whatever becomes of its parts', async () => {
  const manager = managerOf({ a: part, b: part, e: ensemble('a') });
  await manager.load('e', {});
  await manager.load('e', { config: JSON.stringify(ensembleConfig('b')) });
  await manager.unload('b', false);
  expect(ready(manager)).toEqual(['a']);
  await manager.load('b', {});
  expect(manager.config('e', '').ensemble_scheduling?.step[0]?.model_name).toBe('b');
  await manager.unload('a', false);
  expect(ready(manager)).toEqual(['b', 'e']);
});

test('a part that can not be read is said to have failed, though what runs goes on', async () => {
  const manager = managerOf({ a: part, e: ensemble('a') });
  await manager.load('e', {});
  await expect(manager.load('e', { config: JSON.stringify(ensembleConfig('nowhere')) })).rejects.toThrow(
    "load failed for model 'e': ensemble e contains models that are not available or ambiguous: nowhere",
  );
  expect(ready(manager)).toEqual(['a']);
  await expect(manager.load('e', {})).rejects.toThrow("failed to load 'e', failed to poll from model repository");
  await manager.unload('e', false);
  await manager.load('e', {});
  expect(ready(manager)).toEqual(['a', 'e']);
});

test('loads and unloads of the same models wait for one another, others do not', async () => {
  let go = () => {};
  let made = 0;
  const slow: ModelDefinition = {
    config: tensors('TYPE_FP32'),
    create: async () => {
      made += 1;
      if (made === 1) await new Promise<void>((resolve) => (go = resolve));
      return { execute: () => ({}) };
    },
  };
  const manager = managerOf({ slow, e: ensemble('slow'), e2: ensemble('slow'), free: part });
  const order: string[] = [];
  const note = (name: string, done: Promise<void>) => done.then(() => void order.push(name));
  const all = [note('load e', manager.load('e', {})), note('load e2', manager.load('e2', {}))];
  await expect.poll(() => made).toBe(1);
  all.push(note('unload slow', manager.unload('slow', false)));
  await manager.load('free', {});
  expect([order, ready(manager)]).toEqual([[], ['free']]);
  go();
  await Promise.all(all);
  expect(order.length).toBe(3);
  await manager.load('slow', {});
  expect(ready(manager)).toEqual(['e', 'e2', 'free', 'slow']);
});

test('a round that a model is no part of is no reason to look at it for ever', async () => {
  const manager = managerOf({ x: ensemble('y'), y: ensemble('x'), z: ensemble('x') });
  await expect(manager.load('z', {})).rejects.toThrow(
    "load failed for model 'z': ensemble 'z' depends on 'x' which is not valid",
  );
  expect(ready(manager)).toEqual([]);
});

test.each([1, 2, 3, 4, 5])(
  'many loads and unloads at once end, and leave nothing half done (seed %i)',
  async (seed) => {
    const random = new Random(seed);
    let open = 0;
    const slow: ModelDefinition = {
      config: tensors('TYPE_FP32'),
      create: async () => {
        await new Promise((resolve) => setTimeout(resolve, random.integer(0, 3)));
        open += 1;
        const close = () => {
          open -= 1;
        };
        return { execute: () => ({}), close };
      },
    };
    const failing: ModelDefinition = { config: tensors('TYPE_FP32'), create: () => Promise.reject(new Error('no')) };
    const ensembles = {
      e: ensemble('a'),
      e2: ensemble('a'),
      outer: ensemble('e'),
      bad: ensemble('failing'),
      x: ensemble('y'),
      y: ensemble('x'),
    };
    const manager = managerOf({ a: slow, b: slow, failing, ...ensembles });
    const names = ['a', 'b', 'failing', ...Object.keys(ensembles), 'nowhere'];
    const step = () => {
      const name = random.pick(names);
      if (random.chance(0.4)) return manager.unload(name, random.chance(0.5));
      const config = random.pick([FITS, UNFIT, '{', JSON.stringify(ensembleConfig(random.pick(names)))]);
      return manager.load(name, random.chance(0.5) ? {} : { config }).catch((error: unknown) => {
        expect(error).toMatchObject({ code: expect.stringMatching(/^(INVALID_ARG|INTERNAL)$/) });
      });
    };
    for (let round = 0; round < 20; round += 1) await Promise.all(random.times(15, step));
    for (const name of names) await manager.unload(name, true);
    await expect.poll(() => open).toBe(0);
    expect(ready(manager)).toEqual([]);
    await manager.load('outer', { config: JSON.stringify(ensembleConfig('b')) });
    expect(ready(manager)).toEqual(['b', 'outer']);
  },
);
