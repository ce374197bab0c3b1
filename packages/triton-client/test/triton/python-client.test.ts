import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import * as exported from '../../src/index.js';
import { CALLS, OURS_ALONE, OURS_ALONE_BESIDE_CALLS, PARAMETERS } from '../conformance/python-client.js';

interface Module {
  readonly classes: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly functions: Readonly<Record<string, readonly string[]>>;
  readonly constants: readonly string[];
}

/** One call, class or constant of theirs. */
interface Entry {
  readonly key: string;
  readonly modules: string[];
  readonly parameters: Set<string>;
}

/** A function's key, with its module where two modules have functions of that name. */
const ofModule = (module: string, name: string): string => (`${module}.${name}` in CALLS ? `${module}.${name}` : name);

function theirs(): Entry[] {
  const script = fileURLToPath(new URL('../support/python_client.py', import.meta.url));
  const modules = JSON.parse(execFileSync(peersPython(), [script], { encoding: 'utf8' })) as Record<string, Module>;
  const entries = new Map<string, Entry>();
  const add = (key: string, module: string, parameters: readonly string[] = []) => {
    const entry = entries.get(key) ?? { key, modules: [], parameters: new Set() };
    entries.set(key, entry);
    entry.modules.push(module);
    for (const parameter of parameters) entry.parameters.add(parameter);
  };
  for (const [full, { classes, functions, constants }] of Object.entries(modules)) {
    const module = full.replace('tritonclient.', '');
    for (const [name, methods] of Object.entries(classes)) {
      add(name, module);
      for (const [method, parameters] of Object.entries(methods)) add(`${name}.${method}`, module, parameters);
    }
    for (const [name, parameters] of Object.entries(functions)) add(ofModule(module, name), module, parameters);
    for (const name of constants) add(ofModule(module, name), module);
  }
  return [...entries.values()];
}

const parameterKey = (entry: Entry, parameter: string): string =>
  `${entry.key}.${parameter}` in PARAMETERS ? `${entry.key}.${parameter}` : parameter;

function table(entries: readonly Entry[]): string {
  const lines = [
    '# Counterparts of NVIDIA’s Python client',
    '',
    'Made by test/triton/python-client.test.ts from PyPI’s tritonclient and from test/conformance/python-client.ts; don’t edit',
    'it. To make it anew: `vitest run --project triton packages/triton-client/test/triton/python-client.test.ts -u`.',
    '',
    '| theirs | in | ours | parameters |',
    '| --- | --- | --- | --- |',
  ];
  for (const entry of entries) {
    const parameters = [...entry.parameters].map((name) => `\`${name}\`: ${PARAMETERS[parameterKey(entry, name)]}`);
    lines.push(`| \`${entry.key}\` | ${entry.modules.join(', ')} | ${CALLS[entry.key]} | ${parameters.join('<br>')} |`);
  }
  lines.push('', '## Ours alone', '', '| call | what |', '| --- | --- |');
  for (const [name, what] of Object.entries(OURS_ALONE)) lines.push(`| \`client.${name}\` | ${what} |`);
  lines.push('', ...OURS_ALONE_BESIDE_CALLS.map((what) => `- ${what}`));
  return `${lines.join('\n')}\n`;
}

describeTier(
  'triton',
  'counterparts of PyPI’s tritonclient',
  () => {
    const entries = theirs();

    test('every call has one, and every counterpart has a call', () => {
      expect(entries.length).toBeGreaterThan(90);
      const keys = entries.map(({ key }) => key);
      expect(keys.filter((key) => CALLS[key] === undefined)).toEqual([]);
      expect(Object.keys(CALLS).filter((key) => !keys.includes(key))).toEqual([]);
    });

    test('every parameter has one, and every counterpart has a parameter', () => {
      const used = new Set<string>();
      const missing: string[] = [];
      for (const entry of entries) {
        for (const parameter of entry.parameters) {
          const key = parameterKey(entry, parameter);
          used.add(key);
          if (PARAMETERS[key] === undefined) missing.push(`${entry.key}.${parameter}`);
        }
      }
      expect(missing).toEqual([]);
      expect(Object.keys(PARAMETERS).filter((key) => !used.has(key))).toEqual([]);
    });

    test('the calls that are named here exist', () => {
      const client = new exported.TritonClient('grpc://127.0.0.1:1');
      const has = (path: string[]): boolean =>
        path.reduce<unknown>((owner, name) => (Object(owner) as Record<string, unknown>)[name], client) !== undefined;
      const named = Object.values(CALLS).flatMap((text) =>
        Array.from(text.matchAll(/`client\.([\w.]+)\(/g), (m) => m[1] as string),
      );
      expect(named.length).toBeGreaterThan(25);
      expect(named.filter((path) => !has(path.split('.')))).toEqual([]);
      const alone = Object.keys(OURS_ALONE).filter((name) => !(name in client));
      expect(alone).toEqual([]);
      const functions = ['tensor', 'region', 'elementByteLength', 'TritonError', 'TritonClient'];
      expect(functions.filter((name) => !(name in exported))).toEqual([]);
    });

    test('the table is up to date', async () => {
      await expect(table(entries)).toMatchFileSnapshot('../../docs/python-client.md');
    });
  },
  { needs: ['peers'] },
);
