import { ConfigError } from './config-error.js';

/** A piece of protobuf's text format. */
export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'mark' | 'end';
  /** As written; a string's is decoded. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

/** Without repetitions of groups, whose memory a long text would exhaust. */
const BLANK = /\s+|#[^\n]*/y;
const PIECES: readonly { readonly kind: Token['kind']; readonly pattern: RegExp }[] = [
  { kind: 'mark', pattern: /[{}<>[\]:;,-]/y },
  { kind: 'name', pattern: /[A-Za-z_]\w*/y },
  { kind: 'number', pattern: /0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?/y },
];

/** What begins at a place; undefined when nothing does. */
function pieceAt(text: string, at: number): { readonly kind: Token['kind']; readonly match: string } | undefined {
  for (const { kind, pattern } of PIECES) {
    pattern.lastIndex = at;
    const match = pattern.exec(text)?.[0];
    if (match !== undefined) return { kind, match };
  }
  const end = stringEnd(text, at);
  return end === undefined ? undefined : { kind: 'string', match: text.slice(at, end) };
}

/** Where a string literal ends, with its quote; undefined when there is none, or it does not end on its line. */
function stringEnd(text: string, at: number): number | undefined {
  const quote = text[at];
  if (quote !== '"' && quote !== "'") return undefined;
  for (let next = at + 1; next < text.length && text[next] !== '\n'; next += 1) {
    if (text[next] === quote) return next + 1;
    if (text[next] === '\\') next += 1;
    if (text[next] === '\n') return undefined;
  }
  return undefined;
}

/**
 * Splits protobuf's text format.
 *
 * @throws ConfigError for what is no piece of it
 */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const lines = new Lines(text);
  let at = 0;
  for (;;) {
    for (BLANK.lastIndex = at; BLANK.test(text); ) at = BLANK.lastIndex;
    if (at >= text.length) break;
    const { line, column } = lines.of(at);
    const piece = pieceAt(text, at);
    if (piece === undefined) {
      const quote = text[at] === '"' || text[at] === "'";
      const message = quote ? 'String literals cannot cross line boundaries.' : `Expected identifier, got: ${text[at]}`;
      throw new ConfigError(`${line}:${column}`, message);
    }
    const { kind, match } = piece;
    const value = kind === 'string' ? unescaped(match.slice(1, -1), line, column) : match;
    tokens.push({ kind, text: value, line, column });
    at += match.length;
    if (kind === 'number' && /\w/.test(text[at] ?? '')) {
      throw new ConfigError(`${line}:${column}`, 'Need space between number and identifier.');
    }
  }
  tokens.push({ kind: 'end', text: '', ...lines.of(text.length) });
  return tokens;
}

/** Where a place of a text is; asked in ascending order. */
class Lines {
  readonly #text: string;
  #line = 1;
  #start = 0;
  /** Of the line's end. */
  #end: number;

  constructor(text: string) {
    this.#text = text;
    this.#end = this.#endFrom(0);
  }

  of(at: number): { line: number; column: number } {
    while (this.#end < at) {
      this.#line++;
      this.#start = this.#end + 1;
      this.#end = this.#endFrom(this.#start);
    }
    return { line: this.#line, column: at - this.#start + 1 };
  }

  #endFrom(start: number): number {
    const end = this.#text.indexOf('\n', start);
    return end === -1 ? this.#text.length : end;
  }
}

const LETTERS: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** Escapes give bytes, which together must be UTF-8. */
function unescaped(literal: string, line: number, column: number): string {
  if (!literal.includes('\\')) return literal;
  const parts: Buffer[] = [];
  const pattern =
    /\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([abfnrtv])|([\\'"?])|(.))|[^\\]+/gsu;
  for (const [all, octal, hex, short, long, letter, same, other] of literal.matchAll(pattern)) {
    const point = Number.parseInt(short ?? long ?? '0', 16);
    if (other !== undefined || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      throw new ConfigError(`${line}:${column}`, 'Invalid escape sequence in string literal.');
    }
    if (octal !== undefined) parts.push(Buffer.of(Number.parseInt(octal, 8)));
    else if (hex !== undefined) parts.push(Buffer.of(Number.parseInt(hex, 16)));
    else if (letter !== undefined) parts.push(Buffer.of(LETTERS[letter] ?? 0));
    else parts.push(Buffer.from(same ?? (all.startsWith('\\') ? String.fromCodePoint(point) : all)));
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts));
  } catch {
    throw new ConfigError(`${line}:${column}`, 'A string is not valid UTF-8.');
  }
}
