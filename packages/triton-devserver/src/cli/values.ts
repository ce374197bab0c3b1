import { readFileSync, statSync } from 'node:fs';
import { API_GROUPS, type ApiGroup, type RestrictedApis } from '../api-groups.js';
import type { Protocol } from '../protocol.js';
import { isModelFolder } from '../repository/folder.js';
import { UsageError } from './usage.js';

// Each takes what was given to an option, and the option's name for the text of an error.

export function number(value: string, name: string, most: number): number {
  if (!/^\d+$/.test(value) || Number(value) > most) {
    throw new UsageError(`${name} takes a whole number up to ${most}, not '${value}'`);
  }
  return Number(value);
}

export const port = (value: string, name: string) => number(value, name, 65_535);

export function oneOf<Value extends string>(value: string, name: string, known: readonly string[]): Value {
  if (!known.includes(value)) throw new UsageError(`${name} takes one of ${known.join(', ')}, not '${value}'`);
  return value as Value;
}

/** As Triton's own parser. */
export function bool(value: string, name: string): boolean {
  return ['true', 'on', '1'].includes(oneOf(value.toLowerCase(), name, ['true', 'on', '1', 'false', 'off', '0']));
}

export function folder(path: string, name: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UsageError(`${name} takes a folder, and '${path}' is none`);
  }
  if (isModelFolder(path)) {
    throw new UsageError(
      `${name} takes a folder of model folders, and '${path}' is a model's own: give the one above it`,
    );
  }
  return path;
}

export function file(path: string, name: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`${name}: '${path}' can't be read: ${(error as Error).message}`);
  }
}

/** RE2's `(?i)` says nothing that is not so anyway. */
export function pattern(value: string, name: string): RegExp {
  try {
    return new RegExp(value.replace(/^\(\?i\)/, ''));
  } catch (error) {
    throw new UsageError(`${name} takes a regular expression: ${(error as Error).message}`);
  }
}

/** `APIS:KEY=VALUE`, as a real server reads it. */
export function restriction(value: string, name: string, protocol: Protocol): RestrictedApis {
  const [, apis = '', header, wanted] = /^([^:]+):([^=]+)=(.*)$/s.exec(value) ?? [];
  if (header === undefined || wanted === undefined) {
    throw new UsageError(`${name} takes APIS:KEY=VALUE, such as shared-memory,trace:admin-key=secret, not '${value}'`);
  }
  const groups = apis.split(',').map((api) => oneOf<ApiGroup>(api, name, API_GROUPS));
  return { apis: groups, header, value: wanted, protocol };
}
