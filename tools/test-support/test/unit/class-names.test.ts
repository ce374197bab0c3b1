import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

const packages = readdirSync(join(repositoryRoot, 'packages')).map((name) => join(repositoryRoot, 'packages', name));

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** The built files that a package exports. */
const entries = packages.flatMap((folder) => {
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  return Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [{ entry: name + path.slice(1), file: join(folder, target.default) }],
  );
});

/** Of every class that a file exports: the name in the module, and those that objects and stacks print. */
function classesOf(file: string): [exported: string, printed: string, inStacks: string][] {
  const code = `
    const module = await import(${JSON.stringify(pathToFileURL(file).href)});
    const classes = Object.entries(module).flatMap(([exported, value]) => {
      const text = typeof value === 'function' ? Function.prototype.toString.call(value) : '';
      if (!text.startsWith('class')) return [];
      return [[exported, value.name, /^class (?!extends\\b)([\\w$]+)/.exec(text)?.[1] ?? value.name]];
    });
    process.stdout.write(JSON.stringify(classes));
  `;
  const command = ['--input-type=module', '-e', code];
  return JSON.parse(execFileSync(process.execPath, command, { encoding: 'utf8' })) as [string, string, string][];
}

test('every class that a package exports is printed by its name', () => {
  const classes = entries.flatMap(({ entry, file }) => classesOf(file).map((names) => [entry, ...names] as const));
  expect(classes.length).toBeGreaterThan(20);
  const wrong = classes.filter(([, exported, printed, inStacks]) => printed !== exported || inStacks !== exported);
  expect(wrong).toEqual([]);
});

test('a stack names the class of the built package', () => {
  const file = entries.find(({ entry }) => entry === '@zerohop/cuda-native')?.file ?? '';
  const code = `
    const { Stream } = await import(${JSON.stringify(pathToFileURL(file).href)});
    try {
      new Stream();
    } catch (error) {
      process.stdout.write(error.stack);
    }
  `;
  const stack = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  expect(stack).toContain('at new Stream (');
});

test.each([...packages, join(repositoryRoot, 'apps/demo')])(
  'the build of %s has no class with another name',
  (folder) => {
    const dist = join(folder, 'dist');
    const files = readdirSync(dist).filter((name) => name.endsWith('.js'));
    expect(files).not.toEqual([]);
    const renamed = files.flatMap(
      (name) => readFileSync(join(dist, name), 'utf8').match(/\b([\w$]+) = class _\1\b/g) ?? [],
    );
    expect(renamed).toEqual([]);
  },
);
