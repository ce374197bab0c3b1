import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { ModelRequest } from '../../src/model.js';
import { FolderRepository } from '../../src/repository/folder.js';
import { openFiles } from '../../src/repository/override-files.js';

const context = { serverVersion: '2.51.0', gpus: 0 };
const request = {} as ModelRequest;
let repository = '';

beforeEach(() => {
  repository = mkdtempSync(join(tmpdir(), 'zerohop-devserver-'));
  const path = repository;
  onTestFinished(() => rmSync(path, { recursive: true }));
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(repository, path)), { recursive: true });
  writeFileSync(join(repository, path), text);
}

function find(name: string, gpus = 0) {
  const source = new FolderRepository(repository, { ...context, gpus }).find(name);
  if (source === undefined) throw new Error(`There is no model ${name}`);
  return source;
}

const open = (name: string, config?: string) => find(name).open(config);

async function run(name: string, version = 1): Promise<unknown> {
  const { execute, executeDecoupled } = await (await open(name)).start(version);
  if (execute !== undefined) return execute(request);
  return executeDecoupled === undefined ? undefined : [...(executeDecoupled(request) as Iterable<unknown>)];
}

test('folders are models, links to folders too; files and hidden folders are not', () => {
  write('b/1/model.mjs', '');
  write('a/config.pbtxt', '');
  write('.git/config', '');
  write('README.md', '');
  const models = new FolderRepository(repository, context);
  expect(models.names()).toEqual(['a', 'b']);
  expect(models.find('README.md')).toBeUndefined();
  expect(models.find('../x')).toBeUndefined();
});

test.each([
  ['a default function', 'model.mjs', 'export default () => "ran";'],
  ['a function by name', 'model.mjs', 'export const execute = () => "ran";'],
  ['an instance', 'model.mjs', 'export default { execute: () => "ran" };'],
  ['a class', 'model.mjs', 'class M { #t = "ran"; execute() { return this.#t; } }\nexport default new M();'],
  [
    'a default create',
    'model.mjs',
    'export default async function create(c) { return { execute: () => c.name && "ran" }; }',
  ],
  [
    'create by name',
    'model.mjs',
    'export const create = (config, version) => ({ execute: () => version === 1 && "ran" });',
  ],
  ['CommonJS', 'model.js', 'module.exports = { execute: () => "ran" };'],
])('%s runs, whatever the backend is called', async (_, file, source) => {
  write('m/config.pbtxt', 'backend: "python"');
  write('m/1/model.py', 'junk');
  write(`m/1/${file}`, source);
  const instance = await (await open('m')).start(1);
  expect(instance.execute?.(request)).toBe('ran');
});

test('a default function of a decoupled model is its executeDecoupled', async () => {
  write('m/config.pbtxt', 'model_transaction_policy { decoupled: true }');
  write('m/1/model.mjs', 'export default function* () { yield 1; yield 2; }');
  expect(await run('m')).toEqual([1, 2]);
});

test('executeDecoupled of a model that is not decoupled is refused, unless there is an execute too', async () => {
  write('m/1/model.mjs', 'export function* executeDecoupled() { yield 1; }');
  const policy = 'its configuration lacks model_transaction_policy { decoupled: true }';
  await expect(run('m')).rejects.toThrow(policy);
  write('n/1/model.mjs', 'export const create = () => ({ executeDecoupled: () => [] });');
  await expect(run('n')).rejects.toThrow(policy);
  write('o/1/model.mjs', 'export const execute = () => "one"; export const executeDecoupled = () => ["many"];');
  expect(await run('o')).toBe('one');
});

test('the file that the configuration names is preferred', async () => {
  write('m/config.pbtxt', 'default_model_filename: "other.mjs" backend: "javascript"');
  write('m/1/model.mjs', 'export default () => "usual";');
  write('m/1/other.mjs', 'export default () => "other";');
  expect(await run('m')).toBe('other');
});

test.each(['model.mjs', 'model.js'])('%s is imported anew at each load', async (file) => {
  const exported = file === 'model.js' ? 'module.exports =' : 'export default';
  write('m/config.pbtxt', '');
  write(`m/1/${file}`, `${exported} { execute: () => 1 };`);
  const before = find('m').revision();
  expect(await run('m')).toBe(1);
  write(`m/1/${file}`, `${exported} { execute: () => "two" };`);
  expect(await run('m')).toBe('two');
  expect(find('m').revision()).not.toBe(before);
  expect(find('m').revision()).toBe(find('m').revision());
});

test('without a config.pbtxt the newest module says what the configuration is, and is not run twice for that', async () => {
  write('m/1/model.mjs', 'throw new Error("old");');
  const counter = `globalThis.devserverImports = (globalThis.devserverImports ?? 0) + 1;`;
  write('m/10/model.mjs', `${counter}\nexport const config = { max_batch_size: 3 };\nexport default () => "ran";`);
  const opened = await open('m');
  expect(opened.config).toMatchObject({ name: 'm', max_batch_size: 3, backend: 'python' });
  expect(opened.versions).toEqual([10]);
  expect((await opened.start(10)).execute?.(request)).toBe('ran');
  expect((globalThis as { devserverImports?: number }).devserverImports).toBe(1);
});

test('a module that fails does so when its version starts, with or without a config.pbtxt', async () => {
  write('m/1/model.mjs', 'throw new RangeError("boom");');
  await expect((await open('m')).start(1)).rejects.toThrow('boom');
  write('m/config.pbtxt', '');
  await expect((await open('m')).start(1)).rejects.toThrow('boom');
});

test('what is wrong with a folder is said in full to the one who loads it', async () => {
  write('text/config.pbtxt', '\nfoo: 1');
  await expect(open('text')).rejects.toThrow('2:1: Message type "inference.ModelConfig" has no field named "foo".');
  write('module/1/model.mjs', 'export const config = { foo: 1 };\nexport default () => {};');
  await expect(open('module')).rejects.toThrow('foo: there is no such field in ModelConfig');
  write('none/README.md', '');
  await expect(open('none')).rejects.toThrow(
    "model 'none' has neither config.pbtxt nor a module that exports its config",
  );
  write('file/config.pbtxt', '');
  write('file/1/model.py', '');
  await expect((await open('file')).start(1)).rejects.toThrow('there is no model.mjs, model.js or model.onnx in ');
  write('empty/config.pbtxt', '');
  write('empty/1/model.mjs', 'export default 5;');
  await expect((await open('empty')).start(1)).rejects.toThrow(
    'exports none of execute, executeBatch, executeDecoupled and create',
  );
  write('create/config.pbtxt', '');
  write('create/1/model.mjs', 'export default function create() {}');
  await expect((await open('create')).start(1)).rejects.toThrow('create() must give an object with execute');
});

test('a backend that is not named has to follow from a file of the model', async () => {
  const text = "Could not determine backend for model 'm' with no backend in model configuration";
  write('m/config.pbtxt', 'platform: "ensemble"');
  write('m/1/notes.txt', '');
  await expect(open('m', '{"input":[{"name":"I","data_type":"TYPE_FP32","dims":[1]}]}')).rejects.toThrow(text);
  await expect(open('m', '{}')).rejects.toThrow(text);
  expect((await open('m', '{"backend":"python"}')).config.backend).toBe('python');
  write('m/1/model.py', '');
  expect((await open('m', '{}')).config.backend).toBe('python');
});

test('labels: one a line, with or without a last newline', async () => {
  write('m/config.pbtxt', 'output { name: "O" data_type: TYPE_FP32 dims: 2 label_filename: "l.txt" }');
  write('m/1/model.mjs', 'export default () => "ran";');
  write('m/l.txt', 'cat\n\nthe dog\n');
  expect((await open('m')).labels.get('O')).toEqual(['cat', '', 'the dog']);
  write('m/l.txt', 'cat');
  expect((await open('m')).labels.get('O')).toEqual(['cat']);
});

test('a server that has GPUs puts instances on them', async () => {
  write('m/config.pbtxt', 'instance_group [ {}, { kind: KIND_GPU gpus: 1 }, { kind: KIND_CPU } ]');
  write('m/1/model.mjs', 'export default () => "ran";');
  const { config, start } = await find('m', 2).open(undefined);
  expect(config.instance_group.map(({ kind, gpus }) => ({ kind, gpus }))).toEqual([
    { kind: 'KIND_GPU', gpus: [0, 1] },
    { kind: 'KIND_GPU', gpus: [1] },
    { kind: 'KIND_CPU', gpus: [] },
  ]);
  await start(1);
  const one = await find('m', 1).open(undefined);
  await expect(one.start(1)).rejects.toThrow('instance group m_1 of model m specifies invalid or unsupported gpu id 1');
});

const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('triton-devserver-'));
const bytes = (text: string) => new TextEncoder().encode(text);

test('files of a load are a folder of their own until they are disposed of', async () => {
  const before = folders();
  const files = new Map([
    ['3/model.mjs', bytes('import { text } from "./text.mjs";\nexport default () => text;')],
    ['3/text.mjs', bytes('export const text = "files";')],
  ]);
  const model = await openFiles('m', { config: '{}', files }, context);
  expect(model.versions).toEqual([3]);
  expect((await model.start(3)).execute?.(request)).toBe('files');
  await model.dispose?.();
  expect(folders()).toEqual(before);
});

test('files of a load stay within its folder, need a configuration, and leave nothing when it is wrong', async () => {
  const before = folders();
  const outside = join(tmpdir(), 'devserver-outside.mjs');
  for (const path of ['../devserver-outside.mjs', '1/../../devserver-outside.mjs', outside]) {
    const files = new Map([[path, bytes('')]]);
    await expect(openFiles('m', { config: '{}', files }, context), path).rejects.toThrow('is outside of the model');
  }
  const files = new Map([['1/model.mjs', bytes('')]]);
  await expect(openFiles('m', { files }, context)).rejects.toThrow('need a configuration');
  await expect(openFiles('m', { config: '{"foo":1}', files }, context)).rejects.toThrow('no such field');
  await expect(openFiles('m', { config: '{"name":"n"}', files }, context)).rejects.toThrow('unexpected directory name');
  expect(existsSync(outside)).toBe(false);
  expect(folders()).toEqual(before);
});

const CONFIG = 'backend: "python"\n';
const RAN = 'export default () => "ran";';
const link = (to: string, path: string) => symlinkSync(to, join(repository, path));
const pipe = (path: string) => {
  mkdirSync(dirname(join(repository, path)), { recursive: true });
  execFileSync('mkfifo', [join(repository, path)]);
};

test('links that lead to themselves, to nothing, or round and round are passed over', async () => {
  write('a/config.pbtxt', CONFIG);
  write('a/1/model.mjs', RAN);
  link('loop', 'loop');
  link('nowhere', 'gone');
  link('loop', 'a/loop');
  link('nowhere', 'a/gone');
  for (const name of ['x', 'y', 'z']) {
    link('..', `a/1/${name}`);
    link('.', `a/${name}`);
  }
  expect(new FolderRepository(repository, context).names()).toEqual(['a']);
  const before = find('a').revision();
  expect(find('a').revision()).toBe(before);
  write('a/1/more', 'x');
  expect(find('a').revision()).not.toBe(before);
  expect(await run('a')).toBe('ran');
});

test.each(['config.pbtxt', '1/model.mjs', '1/model.onnx', 'labels.txt'])(
  'a pipe or a device as %s is not read',
  async (path) => {
    for (const make of [() => pipe(`a/${path}`), () => link('/dev/zero', `a/${path}`)]) {
      rmSync(join(repository, 'a'), { recursive: true, force: true });
      write('a/1/x', '');
      const output = 'output { name: "Y" data_type: TYPE_FP32 dims: 1 label_filename: "labels.txt" }';
      if (path !== 'config.pbtxt') write('a/config.pbtxt', `${CONFIG}${output}`);
      if (!path.startsWith('1/')) write('a/1/model.mjs', RAN);
      make();
      await expect(run('a')).rejects.toThrow();
    }
  },
);

test('a model whose folder goes while it is read is an error', async () => {
  write('a/config.pbtxt', CONFIG);
  write('a/1/model.mjs', RAN);
  const source = find('a');
  const opened = await source.open(undefined);
  rmSync(join(repository, 'a'), { recursive: true });
  await expect(opened.start(1)).rejects.toThrow();
  await expect(source.open(undefined)).rejects.toThrow();
  expect(() => source.revision()).toThrow();
});

test.each([
  ['many fields', () => 'metric_tags { key: "a" value: "b" }\n'.repeat(100_000)],
  ['a string of ten megabytes', () => `name: "${'x'.repeat(10_000_000)}"`],
  ['a string of escapes', () => `name: "${'\\303\\251'.repeat(100_000)}"`],
  ['ten megabytes of blanks', () => `${' \n'.repeat(5_000_000)}name: "a"`],
  ['ten megabytes of comments', () => `${'#x\n'.repeat(3_000_000)}name: "a"`],
  ['a number of a million digits', () => `max_batch_size: ${'9'.repeat(1_000_000)}`],
  ['many opening brackets', () => 'input { dims: '.repeat(200_000)],
  ['deep nesting', () => `${'ensemble_scheduling { step { input_map { key: "a" value: '.repeat(10_000)}`],
  [
    'names of an object’s own',
    () => 'parameters { key: "__proto__" value { string_value: "x" } } metric_tags { key: "constructor" value: "x" }',
  ],
  ['many fields on one line', () => 'metric_tags { key: "a" value: "b" } '.repeat(50_000)],
  ['noise', () => Buffer.alloc(1_000_000, 0xff).toString('latin1')],
])('a configuration of %s is read or refused', async (_, text) => {
  write('a/config.pbtxt', text());
  write('a/1/model.mjs', RAN);
  await open('a').then(
    ({ versions }) => expect(versions).toEqual([1]),
    (error: Error) => expect(error.name).toMatch(/^(Config|Server)Error$/),
  );
});
