import { type DeepPartial, ModelConfig } from '../grpc/gen/model_config.js';
import { ConfigError } from './config-error.js';
import { enumNames, type Field, fieldsOf, knows } from './schema.js';
import { integerOf, isInteger, realOf } from './values.js';

// Of a repeated group each turn takes memory: none for each character.
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/;
const SINGLE_QUOTED = /'[^'\\]*(?:\\.[^'\\]*)*'/;
const LONG_NUMBER = /(?<![\w.+-])-?\d{16,}(?![\d.eE])/;
const LAST_COMMA = /(?<=[\w"'}\]]\s*),(?=\s*[}\]])/;
const PIECES = new RegExp([STRING, SINGLE_QUOTED, LONG_NUMBER, LAST_COMMA].map(({ source }) => source).join('|'), 'gs');

/**
 * The same as strict JSON, where protobuf's reader lets pass more: strings in single quotes and a comma after the last
 * element. Long numbers become text, which is as good for every number of a configuration and loses no digits.
 */
function strict(text: string): string {
  return text.replace(PIECES, (piece) => {
    if (piece === ',') return '';
    if (piece.startsWith('"')) return piece;
    if (!piece.startsWith("'")) return `"${piece}"`;
    return `"${piece.slice(1, -1).replace(/\\.|"/gs, (part) => (part === "\\'" ? "'" : part === '"' ? '\\"' : part))}"`;
  });
}

/**
 * Reads a configuration from JSON text, such as the `config` of a load. 64-bit numbers stay exact.
 *
 * @throws ConfigError for what is no JSON, and see `configFromJson`
 */
export function parseConfigJson(text: string, serverVersion: string): ModelConfig {
  let value: unknown;
  try {
    value = JSON.parse(strict(text));
  } catch (error) {
    throw new ConfigError('', error instanceof Error ? error.message : String(error));
  }
  return configFromJson(value, serverVersion);
}

/**
 * Reads a configuration from a value as JSON gives it: by protobuf's rules, so a name may also be in camelCase, numbers may
 * be text, null is nothing, and an unknown field is an error.
 *
 * @throws ConfigError that begins with the path of the field
 */
export function configFromJson(value: unknown, serverVersion: string): ModelConfig {
  const message: DeepPartial<ModelConfig> = new Reader(serverVersion).message('ModelConfig', value, '');
  return ModelConfig.fromPartial(message);
}

class Reader {
  readonly #version: string;

  constructor(version: string) {
    this.#version = version;
  }

  message(type: string, value: unknown, path: string): Record<string, unknown> {
    const message: Record<string, unknown> = {};
    const groups = new Map<string, string>();
    for (const [key, given] of Object.entries(objectOf(value, path))) {
      const at = path === '' ? key : `${path}.${key}`;
      const field = fieldNamed(type, key);
      if (field === undefined || !knows(this.#version, type, field.name)) {
        throw new ConfigError(at, `there is no such field in ${type}`);
      }
      if (given === null || given === undefined) continue;
      const other = field.oneof === undefined ? undefined : groups.get(field.oneof);
      if (other !== undefined) throw new ConfigError(at, `can't be together with ${other}`);
      if (field.oneof !== undefined) groups.set(field.oneof, field.name);
      message[field.name] = this.#field(field, given, at);
    }
    return message;
  }

  #field(field: Field, value: unknown, path: string): unknown {
    if (field.key !== undefined) {
      const entries = Object.entries(objectOf(value, path)).map(
        ([key, given]) => [key, this.#single(field.type, given, `${path}.${key}`)] as const,
      );
      if (field.key === 'string') return Object.fromEntries(entries);
      return new Map(entries.map(([key, given]) => [integer('uint64', key, `${path}.${key}`), given]));
    }
    if (!field.repeated) return this.#single(field.type, value, path);
    if (!Array.isArray(value)) throw expected('a list', value, path);
    return value.map((element, index) => this.#single(field.type, element, `${path}[${index}]`));
  }

  #single(type: string, value: unknown, path: string): unknown {
    if (fieldsOf(type) !== undefined) return this.message(type, value, path);
    const names = enumNames(type);
    if (names !== undefined) {
      const name = typeof value === 'number' ? names[value] : value;
      if (typeof name !== 'string' || !names.includes(name)) throw expected(`one of ${names.join(', ')}`, value, path);
      return name;
    }
    if (type === 'string') {
      if (typeof value !== 'string') throw expected('a string', value, path);
      return value;
    }
    if (type === 'bool') {
      if (value === true || value === 'true') return true;
      if (value === false || value === 'false') return false;
      throw expected('true or false', value, path);
    }
    return isInteger(type) ? integer(type, value, path) : real(type, value, path);
  }
}

function fieldNamed(type: string, key: string): Field | undefined {
  const fields = fieldsOf(type);
  return fields?.get(key) ?? fields?.get(key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

function objectOf(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw expected('an object', value, path);
  return value as Record<string, unknown>;
}

function integer(type: string, value: unknown, path: string): number | bigint {
  const whole =
    typeof value === 'bigint' ||
    (typeof value === 'number' && Number.isSafeInteger(value)) ||
    (typeof value === 'string' && /^-?\d+$/.test(value));
  const result = whole ? integerOf(type, BigInt(value)) : undefined;
  if (result === undefined) throw expected(`a number of type ${type}`, value, path);
  return result;
}

function real(type: string, value: unknown, path: string): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || (Number.isNaN(number) && value !== 'NaN' && !Number.isNaN(value))) {
    throw expected('a number', value, path);
  }
  return realOf(type, number);
}

function expected(what: string, value: unknown, path: string): ConfigError {
  const shown = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? String(value));
  return new ConfigError(path, `expected ${what}, found ${shown}`);
}
