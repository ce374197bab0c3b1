import { type DeepPartial, ModelConfig } from '../grpc/gen/model_config.js';
import { ConfigError } from './config-error.js';
import { enumNames, type Field, fieldsOf, knows } from './schema.js';
import { type Token, tokensOf } from './tokens.js';
import { defaultOf, integerOf, isInteger, realOf } from './values.js';

/** A message with the fields that were given. */
type Sparse = Record<string, unknown>;

/** How deep messages may lie in one another; protobuf's own limit is of this size. */
const DEPTH = 100;

/**
 * Reads a config.pbtxt: protobuf's text format. Fields that are not there have protobuf's defaults; nothing is completed.
 *
 * @param serverVersion - a server knows only its own fields
 * @throws ConfigError that begins with `line:column`; the texts are protobuf's where it has one
 */
export function parseTextFormat(text: string, serverVersion: string): ModelConfig {
  const message: DeepPartial<ModelConfig> = new Parser(tokensOf(text), serverVersion).message(
    'ModelConfig',
    undefined,
    0,
  );
  return ModelConfig.fromPartial(message);
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #version: string;
  #at = 0;

  constructor(tokens: readonly Token[], version: string) {
    this.#tokens = tokens;
    this.#version = version;
  }

  /** The fields up to `close`, which is consumed; undefined means up to the end. */
  message(type: string, close: string | undefined, depth: number): Sparse {
    if (depth > DEPTH) throw this.#error('Message is too deep');
    const message: Sparse = {};
    while (!this.#ends(close)) this.#field(type, message, depth);
    return message;
  }

  #ends(close: string | undefined): boolean {
    if (close !== undefined) return this.#take(close);
    return this.#next.kind === 'end';
  }

  #field(type: string, message: Sparse, depth: number): void {
    const token = this.#next;
    if (token.kind !== 'name') throw this.#error(`Expected identifier, got: ${token.text}`);
    const field = fieldsOf(type)?.get(token.text);
    if (field === undefined || !knows(this.#version, type, token.text)) {
      throw this.#error(`Message type "inference.${type}" has no field named "${token.text}".`);
    }
    this.#at++;
    this.#checkSingle(type, field, message, token);
    const colon = this.#take(':');
    const isMessage = field.key !== undefined || fieldsOf(field.type) !== undefined;
    if (!colon && !isMessage) throw this.#error(`Expected ":", found "${this.#next.text}".`);
    if ((field.repeated || field.key !== undefined) && this.#take('[')) {
      if (!this.#take(']')) {
        do this.#value(field, message, depth);
        while (this.#take(','));
        this.#expect(']');
      } else {
        message[field.name] ??= empty(field);
      }
    } else {
      this.#value(field, message, depth);
    }
    if (!this.#take(';')) this.#take(',');
  }

  #checkSingle(type: string, field: Field, message: Sparse, token: Token): void {
    if (field.repeated || field.key !== undefined) return;
    if (Object.hasOwn(message, field.name)) {
      throw this.#error(`Non-repeated field "${field.name}" is specified multiple times.`, token);
    }
    const other = [...(fieldsOf(type)?.values() ?? [])].find(
      ({ name, oneof }) => oneof !== undefined && oneof === field.oneof && Object.hasOwn(message, name),
    );
    if (other !== undefined) {
      const text = `Field "${field.name}" is specified along with field "${other.name}", another member of oneof "${field.oneof}".`;
      throw this.#error(text, token);
    }
  }

  /** Reads one value and adds it to what the message has. */
  #value(field: Field, message: Sparse, depth: number): void {
    if (field.key !== undefined) {
      const entry = this.#entry(field, depth);
      message[field.name] ??= empty(field);
      const map = message[field.name] as Map<unknown, unknown> | Sparse;
      if (map instanceof Map) map.set(entry.key, entry.value);
      else map[entry.key as string] = entry.value;
    } else if (field.repeated) {
      message[field.name] ??= empty(field);
      (message[field.name] as unknown[]).push(this.#single(field.type, depth));
    } else {
      message[field.name] = this.#single(field.type, depth);
    }
  }

  /** A map's entry: a message of `key` and `value`. */
  #entry(field: Field, depth: number): { key: unknown; value: unknown } {
    const { type, key: keyType = 'string' } = field;
    const close = this.#open();
    const entry: { key?: unknown; value?: unknown } = {};
    while (!this.#take(close)) {
      const token = this.#next;
      const name = token.text;
      if (token.kind !== 'name' || (name !== 'key' && name !== 'value')) {
        throw this.#error(`Expected "key" or "value" of an entry of "${field.name}", found "${name}".`);
      }
      if (Object.hasOwn(entry, name)) throw this.#error(`Non-repeated field "${name}" is specified multiple times.`);
      this.#at++;
      const colon = this.#take(':');
      const wanted = name === 'key' ? keyType : type;
      if (!colon && fieldsOf(wanted) === undefined) throw this.#error(`Expected ":", found "${this.#next.text}".`);
      entry[name] = this.#single(wanted, depth);
      if (!this.#take(';')) this.#take(',');
    }
    const value = entry.value ?? (fieldsOf(type) === undefined ? defaultOf(type) : {});
    return { key: entry.key ?? defaultOf(keyType), value };
  }

  #single(type: string, depth: number): unknown {
    if (fieldsOf(type) !== undefined) return this.message(type, this.#open(), depth + 1);
    const names = enumNames(type);
    if (names !== undefined) return this.#enumValue(type, names);
    if (type === 'string') return this.#string();
    if (type === 'bool') return this.#bool();
    return isInteger(type) ? this.#integer(type) : this.#real(type);
  }

  #open(): string {
    if (this.#take('{')) return '}';
    if (this.#take('<')) return '>';
    throw this.#error(`Expected "{", found "${this.#next.text}".`);
  }

  #string(): string {
    if (this.#next.kind !== 'string') throw this.#error(`Expected string, got: ${this.#next.text}`);
    let value = '';
    for (; this.#next.kind === 'string'; this.#at++) value += this.#next.text;
    return value;
  }

  #bool(): boolean {
    const { kind, text } = this.#next;
    const yes = kind === 'name' ? ['true', 'True', 't'].includes(text) : kind === 'number' && text === '1';
    const no = kind === 'name' ? ['false', 'False', 'f'].includes(text) : kind === 'number' && text === '0';
    if (!yes && !no) throw this.#error(`Expected "true" or "false", found "${text}".`);
    this.#at++;
    return yes;
  }

  #enumValue(type: string, names: readonly string[]): string {
    const token = this.#next;
    const negative = this.#take('-');
    const { kind, text } = this.#next;
    const number = kind === 'number' && !negative ? wholeOf(text) : undefined;
    const name = kind === 'name' && !negative ? text : names[Number(number ?? -1)];
    if (name === undefined || !names.includes(name)) {
      throw this.#error(`Unknown enumeration value of "${text}" for "inference.${type}".`, token);
    }
    this.#at++;
    return name;
  }

  #integer(type: string): number | bigint {
    const token = this.#next;
    const negative = this.#take('-');
    const { kind, text } = this.#next;
    const value = kind === 'number' ? wholeOf(text) : undefined;
    if (value === undefined) throw this.#error(`Expected integer, got: ${text}`);
    const result = integerOf(type, negative ? -value : value);
    if (result === undefined) throw this.#error(`Integer out of range (${negative ? '-' : ''}${text})`, token);
    this.#at++;
    return result;
  }

  #real(type: string): number {
    const negative = this.#take('-');
    const { kind, text } = this.#next;
    const named = { inf: Number.POSITIVE_INFINITY, infinity: Number.POSITIVE_INFINITY, nan: Number.NaN };
    const value =
      kind === 'name' ? named[text.toLowerCase() as keyof typeof named] : Number.parseFloat(text.replace(/[fF]$/, ''));
    if (value === undefined || (kind !== 'name' && (kind !== 'number' || /^0[xX\d]/.test(text)))) {
      throw this.#error(`Expected double, got: ${text}`);
    }
    this.#at++;
    return realOf(type, negative ? -value : value);
  }

  get #next(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #take(mark: string): boolean {
    const { kind, text } = this.#next;
    if (kind !== 'mark' || text !== mark) return false;
    this.#at++;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#take(mark)) throw this.#error(`Expected "${mark}", found "${this.#next.text}".`);
  }

  #error(message: string, token: Token = this.#next): ConfigError {
    return new ConfigError(`${token.line}:${token.column}`, message);
  }
}

function empty(field: Field): unknown {
  if (field.key === undefined) return [];
  return field.key === 'uint64' ? new Map() : {};
}

/** Decimal, hexadecimal after 0x, octal after 0; undefined for anything else. */
function wholeOf(text: string): bigint | undefined {
  if (/^0[0-7]+$/.test(text)) return BigInt(`0o${text.slice(1)}`);
  return /^(?:0|[1-9]\d*|0[xX][0-9a-fA-F]+)$/.test(text) ? BigInt(text) : undefined;
}
