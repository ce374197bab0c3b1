import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { enumNames, enumTypes, type Field, fieldsOf, messageNames } from '../../src/config/schema.js';

const PROTO = join(import.meta.dirname, '../../../triton-client/proto/model_config.proto');
const SCALARS = new Set(['string', 'bool', 'int32', 'int64', 'uint32', 'uint64', 'float', 'double']);

interface Proto {
  readonly messages: ReadonlyMap<string, readonly Field[]>;
  readonly enums: ReadonlyMap<string, readonly string[]>;
}

/** What the proto file says: its messages, with the full names of the types of their fields, and its enums. */
function read(text: string): Proto {
  const messages = new Map<string, Field[]>();
  const enums = new Map<string, string[]>();
  const open: { kind: string; name: string }[] = [];
  const fullName = (name: string) =>
    [...open.filter(({ kind }) => kind === 'message').map((scope) => scope.name), name].join('.');
  const scopes = new Map<Field, string>();
  for (const line of text.replace(/\/\/[^\n]*/g, '').split('\n')) {
    const block = /^\s*(message|enum|oneof)\s+(\w+)\s*\{(\s*\})?/.exec(line);
    const field = /^\s*(?:map<(\w+),\s*|(repeated)\s+)?([\w.]+)>?\s+(\w+)\s*=\s*(\d+);/.exec(line);
    const value = /^\s*(\w+)\s*=\s*(\d+);/.exec(line);
    if (block !== null) {
      const [, kind = '', name = '', closed] = block;
      if (kind === 'message') messages.set(fullName(name), []);
      if (kind === 'enum') enums.set(fullName(name), []);
      open.push({ kind, name: kind === 'enum' ? fullName(name) : name });
      if (closed !== undefined) open.pop();
    } else if (field !== null && open.length > 0) {
      const [, key, repeated, type = '', name = ''] = field;
      const oneof = open.at(-1)?.kind === 'oneof' ? open.at(-1)?.name : undefined;
      const scope = open.filter(({ kind }) => kind === 'message').map((entry) => entry.name);
      const added = { name, type, repeated: repeated !== undefined, key: key as Field['key'], oneof };
      scopes.set(added, scope.join('.'));
      messages.get(scope.join('.'))?.push(added);
    } else if (value !== null && open.at(-1)?.kind === 'enum') {
      const names = enums.get(open.at(-1)?.name ?? '') as string[];
      expect(Number(value[2])).toBe(names.length);
      names.push(value[1] ?? '');
    } else if (/^\s*\}/.test(line)) {
      open.pop();
    }
  }
  const resolve = (type: string, scope: string): string => {
    if (SCALARS.has(type)) return type;
    const name = scope === '' ? type : `${scope}.${type}`;
    if (messages.has(name) || enums.has(name)) return name;
    if (scope === '') throw new Error(`The proto file has no ${type}`);
    return resolve(type, scope.split('.').slice(0, -1).join('.'));
  };
  const resolved = [...messages].map(
    ([name, fields]) =>
      [name, fields.map((field) => ({ ...field, type: resolve(field.type, scopes.get(field) ?? '') }))] as const,
  );
  return { messages: new Map(resolved), enums };
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);

test('the tables of fields and enums say what the proto file says', () => {
  const { messages, enums } = read(readFileSync(PROTO, 'utf8'));
  expect(messages.size).toBeGreaterThan(40);
  expect([...messageNames].sort()).toEqual([...messages.keys()].sort());
  for (const [name, fields] of messages) {
    expect([...(fieldsOf(name)?.values() ?? [])].sort(byName), name).toEqual([...fields].sort(byName));
  }
  expect([...enumTypes].sort()).toEqual([...enums.keys()].sort());
  for (const [name, values] of enums) expect(enumNames(name), name).toEqual(values);
});
