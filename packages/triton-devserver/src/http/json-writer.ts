import { doubleToJson } from './json-double.js';

/**
 * JSON as the server writes it (RapidJSON's Writer with NaN and Infinity). Texts are made as byte strings, one character
 * per byte, since the elements of BYTES go out as they are, also when they are no UTF-8: `Buffer.from(text, 'latin1')`.
 */
export type ByteText = string;

/** The two characters, and what is below a blank. */
const MUST_ESCAPE = /["\\]|[^ -\u00ff]/g;
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function escapeOf(character: string): string {
  return SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Quoted. */
export function bytesToJson(bytes: Uint8Array): ByteText {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return `"${text.replace(MUST_ESCAPE, escapeOf)}"`;
}

/** Quoted, as UTF-8. */
export function textToJson(text: string): ByteText {
  return bytesToJson(Buffer.from(text, 'utf8'));
}

/** What answers are made of, beside tensors: numbers are whole, and undefined members are left out. */
export type Answer =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Answer[]
  | { readonly [name: string]: Answer | undefined };

export function answerToJson(answer: Answer): ByteText {
  if (typeof answer === 'string') return textToJson(answer);
  if (typeof answer === 'number') return Number.isInteger(answer) ? String(answer) : doubleToJson(answer);
  if (answer === null || typeof answer !== 'object') return String(answer);
  if (Array.isArray(answer)) return `[${(answer as readonly Answer[]).map(answerToJson).join(',')}]`;
  const members: string[] = [];
  for (const [name, value] of Object.entries(answer)) {
    if (value !== undefined) members.push(`${textToJson(name)}:${answerToJson(value)}`);
  }
  return `{${members.join(',')}}`;
}
