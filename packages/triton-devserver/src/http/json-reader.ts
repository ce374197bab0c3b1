import { isAscii, isUtf8 } from 'node:buffer';
import { readNumber } from './json-number.js';
import { type JsonProblem, jsonError } from './json-problem.js';
import { type Json, JsonObject, RawString } from './json-value.js';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const ESCAPES = new Map(
  [...'"\\/bfnrt'].map((name, index) => [name.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(index)]),
);
const WORDS: ReadonlyMap<number, readonly [string, Json]> = new Map([
  [0x74, ['true', true]],
  [0x66, ['false', false]],
  [0x6e, ['null', null]],
]);
/** The real server has no limit but its stack; here too deep a text must not be the end of ours. */
const MAX_DEPTH = 1000;

/**
 * Reads JSON as the server does (RapidJSON 1.1.0 with NaN and Infinity): a byte order mark is skipped, a zero byte ends the
 * text, strings may be no UTF-8, and errors give the same texts and offsets.
 *
 * @throws ServerError INTERNAL
 */
export function readJson(bytes: Uint8Array): Json {
  return new Reader(bytes).document();
}

class Reader {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  fail(problem: JsonProblem, at = this.at): Error {
    return jsonError(problem, at);
  }

  document(): Json {
    if (this.bytes[0] === 0xef && this.bytes[1] === 0xbb && this.bytes[2] === 0xbf) this.at = 3;
    if (this.#peek() === 0) throw this.fail('empty');
    const value = this.#value(0);
    if (this.#peek() !== 0) throw this.fail('root');
    return value;
  }

  /** The next byte that is no space; 0 at the end. */
  #peek(): number {
    for (;;) {
      const byte = this.bytes[this.at] ?? 0;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.at += 1;
    }
  }

  #value(depth: number): Json {
    const first = this.#peek();
    if (first === QUOTE) return this.#string();
    if (first === OPEN_OBJECT) return this.#object(depth + 1);
    if (first === OPEN_ARRAY) return this.#array(depth + 1);
    const word = WORDS.get(first);
    return word === undefined ? readNumber(this) : this.#word(...word);
  }

  #word(word: string, value: Json): Json {
    for (const character of word) {
      if (this.bytes[this.at] !== character.charCodeAt(0)) throw this.fail('value');
      this.at += 1;
    }
    return value;
  }

  #object(depth: number): JsonObject {
    if (depth > MAX_DEPTH) throw this.fail('depth');
    this.at += 1;
    const members: [string, Json][] = [];
    if (this.#peek() === CLOSE_OBJECT) {
      this.at += 1;
      return new JsonObject(members);
    }
    for (;;) {
      if (this.#peek() !== QUOTE) throw this.fail('name');
      const name = this.#string();
      if (this.#peek() !== COLON) throw this.fail('colon');
      this.at += 1;
      members.push([typeof name === 'string' ? name : Buffer.from(name.bytes).toString('utf8'), this.#value(depth)]);
      const next = this.#peek();
      if (next !== COMMA && next !== CLOSE_OBJECT) throw this.fail('object-end');
      this.at += 1;
      if (next === CLOSE_OBJECT) return new JsonObject(members);
    }
  }

  #array(depth: number): Json[] {
    if (depth > MAX_DEPTH) throw this.fail('depth');
    this.at += 1;
    const elements: Json[] = [];
    if (this.#peek() === CLOSE_ARRAY) {
      this.at += 1;
      return elements;
    }
    for (;;) {
      elements.push(this.#value(depth));
      const next = this.#peek();
      if (next !== COMMA && next !== CLOSE_ARRAY) throw this.fail('array-end');
      this.at += 1;
      if (next === CLOSE_ARRAY) return elements;
    }
  }

  #string(): string | RawString {
    this.at += 1;
    const start = this.at;
    const parts: Buffer[] = [];
    let from = start;
    for (;;) {
      const byte = this.bytes[this.at] ?? 0;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        parts.push(this.bytes.subarray(from, this.at), this.#escape());
        from = this.at;
      } else if (byte < 0x20) {
        throw this.fail(byte === 0 ? 'quote' : 'escape');
      } else {
        this.at += 1;
      }
    }
    const rest = this.bytes.subarray(from, this.at);
    this.at += 1;
    return textOf(parts.length === 0 ? rest : Buffer.concat([...parts, rest]));
  }

  #escape(): Buffer {
    const start = this.at;
    this.at += 1;
    const name = this.bytes[this.at] ?? 0;
    const plain = ESCAPES.get(name);
    if (plain !== undefined) {
      this.at += 1;
      return Buffer.of(plain);
    }
    if (name !== 0x75) throw this.fail('escape', start);
    this.at += 1;
    const unit = this.#hex(start);
    if (unit < 0xd800 || unit > 0xdbff) return encodeUnit(unit);
    if (this.bytes[this.at] !== BACKSLASH || this.bytes[this.at + 1] !== 0x75) throw this.fail('surrogate', start);
    this.at += 2;
    const low = this.#hex(start);
    if (low < 0xdc00 || low > 0xdfff) throw this.fail('surrogate', start);
    return Buffer.from(String.fromCharCode(unit, low), 'utf8');
  }

  #hex(start: number): number {
    const digits = this.bytes.toString('latin1', this.at, this.at + 4);
    if (!/^[0-9A-Fa-f]{4}$/.test(digits)) throw this.fail('hex', start);
    this.at += 4;
    return Number.parseInt(digits, 16);
  }
}

/** A low half alone is three bytes, as the server writes it, which is no UTF-8. */
function encodeUnit(unit: number): Buffer {
  if (unit < 0xdc00 || unit > 0xdfff) return Buffer.from(String.fromCharCode(unit), 'utf8');
  return Buffer.of(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f));
}

function textOf(bytes: Buffer): string | RawString {
  if (isAscii(bytes)) return bytes.toString('latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : new RawString(bytes);
}
