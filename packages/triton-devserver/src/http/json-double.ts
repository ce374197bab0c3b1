/**
 * A double's digits as RapidJSON writes them (Grisu2, Florian Loitsch 2010): they read back as the same double, but in about
 * one case of a thousand, and more often for FP32, they are not the shortest ones, which JavaScript gives.
 */

/** A number as f · 2^e, where f has 64 bits. */
interface Scaled {
  readonly f: bigint;
  readonly e: number;
}

const WORD = 64n;
const MASK = 2n ** WORD - 1n;
const HIDDEN_BIT = 2n ** 52n;
const bits = new DataView(new ArrayBuffer(8));

function normalized(f: bigint, e: number): Scaled {
  const shift = 64 - f.toString(2).length;
  return { f: f << BigInt(shift), e: e - shift };
}

function times(a: Scaled, b: Scaled): Scaled {
  const product = a.f * b.f;
  return { f: ((product >> WORD) + ((product >> (WORD - 1n)) & 1n)) & MASK, e: a.e + b.e + 64 };
}

const powers = new Map<number, Scaled>();

/** 10^exponent, rounded to 64 bits. */
function power(exponent: number): Scaled {
  let scaled = powers.get(exponent);
  if (scaled === undefined) {
    scaled =
      exponent >= 0 ? rounded(10n ** BigInt(exponent), 0) : rounded((1n << 1300n) / 10n ** BigInt(-exponent), -1300);
    powers.set(exponent, scaled);
  }
  return scaled;
}

function rounded(f: bigint, e: number): Scaled {
  const surplus = f.toString(2).length - 64;
  if (surplus <= 0) return normalized(f, e);
  const half = 1n << BigInt(surplus - 1);
  return normalized((f + half) >> BigInt(surplus), e + surplus);
}

/** @returns the digits d and the exponent k of d · 10^k, for a finite value above 0 */
function grisu2(value: number): { digits: number[]; k: number } {
  bits.setFloat64(0, value);
  const raw = bits.getBigUint64(0);
  const biased = Number(raw >> 52n);
  const fraction = raw & (HIDDEN_BIT - 1n);
  const f = biased === 0 ? fraction : fraction + HIDDEN_BIT;
  const e = (biased === 0 ? 1 : biased) - 1075;
  const plus = normalized((f << 1n) + 1n, e - 1);
  const low = f === HIDDEN_BIT ? { f: (f << 2n) - 1n, e: e - 2 } : { f: (f << 1n) - 1n, e: e - 1 };
  const minus: Scaled = { f: low.f << BigInt(low.e - plus.e), e: plus.e };
  const index = (Math.ceil((-61 - plus.e) * 0.30102999566398114 + 347) >> 3) + 1;
  const cached = power(-348 + index * 8);
  const middle = times(normalized(f, e), cached);
  const upper = times(plus, cached).f - 1n;
  const lower = times(minus, cached).f + 1n;
  return generate(middle.f, { f: upper, e: middle.e }, upper - lower, 348 - index * 8);
}

/** Digits from the upper bound down, until what is left lies between the bounds. */
function generate(middle: bigint, upper: Scaled, between: bigint, k: number): { digits: number[]; k: number } {
  const shift = BigInt(-upper.e);
  const one = 1n << shift;
  const distance = upper.f - middle;
  const digits: number[] = [];
  const push = (digit: number) => {
    if (digit !== 0 || digits.length > 0) digits.push(digit);
  };
  let whole = Number(upper.f >> shift);
  let rest = upper.f & (one - 1n);
  let kappa = String(whole).length;
  while (kappa > 0) {
    const unit = 10 ** (kappa - 1);
    push(Math.floor(whole / unit));
    whole %= unit;
    kappa -= 1;
    const left = (BigInt(whole) << shift) + rest;
    if (left <= between) {
      round(digits, between, left, BigInt(unit) << shift, distance);
      return { digits, k: k + kappa };
    }
  }
  let delta = between;
  for (;;) {
    rest *= 10n;
    delta *= 10n;
    push(Number(rest >> shift));
    rest &= one - 1n;
    kappa -= 1;
    if (rest < delta) {
      round(digits, delta, rest, one, kappa > -9 ? distance * 10n ** BigInt(-kappa) : 0n);
      return { digits, k: k + kappa };
    }
  }
}

/** Takes the last digit down while that comes nearer to the value. */
function round(digits: number[], delta: bigint, from: bigint, unit: bigint, distance: bigint): void {
  let rest = from;
  while (
    rest < distance &&
    delta - rest >= unit &&
    (rest + unit < distance || distance - rest > rest + unit - distance)
  ) {
    digits.push((digits.pop() ?? 0) - 1);
    rest += unit;
  }
}

/** With a point or an exponent; `NaN` and `Infinity` bare. */
export function doubleToJson(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  // Whole numbers of this size are written digit by digit either way.
  if (Number.isSafeInteger(value)) return `${Object.is(value, -0) ? '-0' : value}.0`;
  const { digits, k } = grisu2(Math.abs(value));
  return `${value < 0 ? '-' : ''}${pretty(digits.join(''), k)}`;
}

function pretty(digits: string, k: number): string {
  const point = digits.length + k;
  if (k >= 0 && point <= 21) return `${digits}${'0'.repeat(k)}.0`;
  if (point > 0 && point <= 21) return `${digits.slice(0, point)}.${digits.slice(point)}`;
  if (point > -6 && point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
  return `${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ''}e${point - 1}`;
}
