import type { JsonProblem } from './json-problem.js';
import { WholeDouble } from './json-value.js';

/** What a number's reader needs of its text. */
export interface NumberText {
  readonly bytes: Uint8Array;
  at: number;
  fail(problem: JsonProblem, at?: number): Error;
}

const [ZERO, NINE, MINUS, PLUS, DOT] = [0x30, 0x39, 0x2d, 0x2b, 0x2e];
const [E_SMALL, E_LARGE] = [0x65, 0x45];
/** An integer that has got so far would not fit with one more digit. */
const TOO_BIG = Number.MAX_VALUE / 10;
/** Digits that a double's significand is made of. */
const SIGNIFICANT_DIGITS = 17;

function digitAt(text: NumberText): number {
  const byte = text.bytes[text.at] ?? 0;
  return byte >= ZERO && byte <= NINE ? byte - ZERO : -1;
}

function takes(text: NumberText, word: string): boolean {
  for (let index = 0; index < word.length; index++) {
    if (text.bytes[text.at + index] !== word.charCodeAt(index)) return false;
  }
  text.at += word.length;
  return true;
}

/**
 * Reads a number as RapidJSON 1.1.0 does in its default precision, `NaN`, `Inf` and `Infinity` among them: the same values,
 * in the last bit too, and the same offsets for what is wrong.
 */
export function readNumber(text: NumberText): number | bigint | WholeDouble {
  const start = text.at;
  const negative = text.bytes[text.at] === MINUS;
  if (negative) text.at += 1;
  if (digitAt(text) < 0) return readWord(text, negative);
  const integer = readInteger(text, negative, start);
  const next = text.bytes[text.at];
  if (next !== DOT && next !== E_SMALL && next !== E_LARGE) {
    if (!integer.isDouble) return signed(integer, negative);
    return whole(negative ? -integer.value : integer.value);
  }
  const { value, exponent } = readFraction(text, integer);
  const scaled = scale(value, exponent + readExponent(text, exponent, start));
  return whole(negative ? -scaled : scaled);
}

interface Integer {
  /** Rounded when the text has more than a double holds. */
  readonly value: number;
  /** The exact value of an integer beyond 2^53. */
  readonly exact: bigint | undefined;
  readonly isDouble: boolean;
  /** Digits after the first one. */
  readonly digits: number;
}

function whole(value: number): number | WholeDouble {
  return Number.isInteger(value) ? new WholeDouble(value) : value;
}

function signed({ value, exact }: Integer, negative: boolean): number | bigint {
  if (exact !== undefined) return negative ? -exact : exact;
  return negative ? 0 - value : value;
}

function readWord(text: NumberText, negative: boolean): number {
  const { bytes } = text;
  if (bytes[text.at] === 0x4e) {
    if (takes(text, 'NaN')) return Number.NaN;
  } else if (takes(text, 'Inf')) {
    if (bytes[text.at] === 0x69 && !takes(text, 'inity')) throw text.fail('value', countMatching(text, 'inity'));
    return negative ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  throw text.fail('value', countMatching(text, bytes[text.at] === 0x4e ? 'NaN' : 'Inf'));
}

/** Where a word stops to be what it should be. */
function countMatching(text: NumberText, word: string): number {
  let { at } = text;
  for (const character of word) {
    if (text.bytes[at] !== character.charCodeAt(0)) break;
    at += 1;
  }
  return at;
}

function readInteger(text: NumberText, negative: boolean, start: number): Integer {
  const first = text.at;
  let value = digitAt(text);
  text.at += 1;
  if (value === 0) return { value, exact: undefined, isDouble: false, digits: 0 };
  for (let digit = digitAt(text); digit >= 0; digit = digitAt(text)) {
    if (text.at - first >= 15) return readLongInteger(text, first, negative, start);
    value = value * 10 + digit;
    text.at += 1;
  }
  return { value, exact: undefined, isDouble: false, digits: text.at - first - 1 };
}

/** An integer of more digits than a double surely holds: 64 bits while it fits, then a double. */
function readLongInteger(text: NumberText, first: number, negative: boolean, start: number): Integer {
  const limit = negative ? 2n ** 63n : 2n ** 64n - 1n;
  let exact = BigInt(Buffer.from(text.bytes.subarray(first, text.at)).toString('latin1'));
  for (let digit = digitAt(text); digit >= 0; digit = digitAt(text)) {
    const next = exact * 10n + BigInt(digit);
    if (next > limit) {
      const digits = text.at - first - 1;
      return { value: readHugeInteger(text, Number(exact), start), exact: undefined, isDouble: true, digits };
    }
    exact = next;
    text.at += 1;
  }
  const value = Number(exact);
  return {
    value,
    exact: Number.isSafeInteger(value) ? undefined : exact,
    isDouble: false,
    digits: text.at - first - 1,
  };
}

function readHugeInteger(text: NumberText, from: number, start: number): number {
  let value = from;
  for (let digit = digitAt(text); digit >= 0; digit = digitAt(text)) {
    if (value >= TOO_BIG) throw text.fail('too-big', start);
    value = value * 10 + digit;
    text.at += 1;
  }
  return value;
}

function readFraction(text: NumberText, integer: Integer): { value: number; exponent: number } {
  let { value, digits } = integer;
  if (text.bytes[text.at] !== DOT) return { value, exponent: 0 };
  text.at += 1;
  if (digitAt(text) < 0) throw text.fail('fraction');
  let exponent = 0;
  if (!integer.isDouble) {
    for (let digit = digitAt(text); digit >= 0 && value <= Number.MAX_SAFE_INTEGER; digit = digitAt(text)) {
      const next = value * 10 + digit;
      // Above 2^53 the sum would be rounded twice.
      value = Number.isSafeInteger(next) ? next : Number(BigInt(value) * 10n + BigInt(digit));
      exponent -= 1;
      if (value !== 0) digits += 1;
      text.at += 1;
    }
  }
  for (let digit = digitAt(text); digit >= 0; digit = digitAt(text)) {
    if (digits < SIGNIFICANT_DIGITS) {
      value = value * 10 + digit;
      exponent -= 1;
      if (value > 0) digits += 1;
    }
    text.at += 1;
  }
  return { value, exponent };
}

/** @param scaled the exponent that the fraction's digits gave */
function readExponent(text: NumberText, scaled: number, start: number): number {
  const mark = text.bytes[text.at];
  if (mark !== E_SMALL && mark !== E_LARGE) return 0;
  text.at += 1;
  const sign = text.bytes[text.at];
  if (sign === PLUS || sign === MINUS) text.at += 1;
  if (digitAt(text) < 0) throw text.fail('exponent');
  let exponent = digitAt(text);
  text.at += 1;
  for (let digit = digitAt(text); digit >= 0; digit = digitAt(text)) {
    exponent = Math.min(exponent * 10 + digit, 1e9);
    if (sign !== MINUS && exponent > 308 - scaled) throw text.fail('too-big', start);
    text.at += 1;
  }
  return sign === MINUS ? -exponent : exponent;
}

function scale(value: number, exponent: number): number {
  if (exponent >= 0) return value * powerOfTen(exponent);
  if (exponent >= -308) return value / powerOfTen(-exponent);
  return exponent < -616 ? 0 : value / powerOfTen(308) / powerOfTen(-exponent - 308);
}

function powerOfTen(exponent: number): number {
  return Number(`1e${exponent}`);
}
