/**
 * JSON as Triton reads and writes it, where it is wider than JavaScript's: 64-bit integers, and `NaN` and `Infinity`
 * bare. Integers that a number cannot hold are bigints.
 */

/** A text that is no JSON. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/** What `JSON.parse` would round or refuse. */
const NOT_PLAIN = /\d{16}|NaN|Inf/;
const NUMBER = /-?(?:Infinity|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|NaN/y;
/** A string without escapes, one with; `JSON.parse` judges them. */
const PLAIN_STRING = /"[^"\\]*"/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const SPACE = /[\t\n\r ]*/y;
const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
/** Far beyond what Triton nests; it keeps hostile text from the end of the stack. */
const MAX_DEPTH = 200;

/** @throws JsonError */
export function parseJson(text: string): unknown {
  if (NOT_PLAIN.test(text)) return new Parser(text).document();
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new JsonError((error as Error).message, { cause: error });
  }
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): unknown {
    const value = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) throw this.#unexpected();
    return value;
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new JsonError(`more than ${MAX_DEPTH} levels`);
    this.#space();
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(depth + 1);
    if (first === '[') return this.#array(depth + 1);
    if (first === '"') return this.#string();
    for (const [word, value] of WORDS) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    return this.#number();
  }

  #object(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#list('}', () => {
      this.#space();
      const key = this.#string();
      this.#expect(':');
      entries.push([key, this.#value(depth)]);
    });
    // fromEntries defines own properties, whatever the names are.
    return Object.fromEntries(entries);
  }

  #array(depth: number): unknown[] {
    const elements: unknown[] = [];
    this.#list(']', () => elements.push(this.#value(depth)));
    return elements;
  }

  #list(end: string, element: () => void): void {
    this.#at += 1;
    if (this.#peek() === end) {
      this.#at += 1;
      return;
    }
    for (;;) {
      element();
      if (this.#peek() === end) break;
      this.#expect(',');
    }
    this.#at += 1;
  }

  #string(): string {
    const token = this.#match(PLAIN_STRING) ?? this.#match(STRING);
    if (token === undefined) throw this.#unexpected();
    try {
      return JSON.parse(token) as string;
    } catch (error) {
      throw new JsonError((error as Error).message, { cause: error });
    }
  }

  #number(): number | bigint {
    const token = this.#match(NUMBER);
    if (token === undefined) throw this.#unexpected();
    const value = Number(token);
    return /^-?\d+$/.test(token) && !Number.isSafeInteger(value) ? BigInt(token) : value;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #peek(): string | undefined {
    this.#space();
    return this.#text[this.#at];
  }

  #expect(character: string): void {
    if (this.#peek() !== character) throw this.#unexpected();
    this.#at += 1;
  }

  #space(): void {
    this.#match(SPACE);
  }

  #unexpected(): JsonError {
    const found = this.#text[this.#at];
    return new JsonError(found === undefined ? 'the text breaks off' : `'${found}' at ${this.#at} is out of place`);
  }
}

/**
 * JSON with bigints as bare digits, and `NaN` and `Infinity` bare, which Triton reads. A number that is whole but beyond
 * 2^53 is written with an exponent: to the server that is a double, as it is here.
 *
 * @throws TypeError for what JSON has no form for, and for circles
 */
export function writeJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (depth > MAX_DEPTH) throw new TypeError(`Expected at most ${MAX_DEPTH} levels for a JSON value`);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'bigint':
      return value.toString();
    case 'number':
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value);
    case 'object':
      if (value === null) return 'null';
      if (Array.isArray(value)) return `[${value.map((element) => write(element, depth + 1)).join(',')}]`;
      return writeObject(value, depth + 1);
    case 'undefined':
    case 'function':
    case 'symbol':
      throw new TypeError(`Expected a JSON value but received ${String(value)} of type ${typeof value}`);
  }
}

function writeObject(value: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`Expected a JSON value but received an object of ${value.constructor.name}`);
  }
  const entries = Object.entries(value).filter(([, element]) => element !== undefined);
  return `{${entries.map(([key, element]) => `${JSON.stringify(key)}:${write(element, depth)}`).join(',')}}`;
}
