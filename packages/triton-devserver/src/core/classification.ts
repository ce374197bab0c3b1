import { serializeElements } from '../bytes-elements.js';
import { type Datatype, type Elements, elementCount, viewOf } from '../datatype.js';
import { stdSort } from './std-sort.js';

interface Tensor {
  readonly datatype: Exclude<Datatype, 'BYTES' | 'FP16' | 'BF16' | 'BOOL'>;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

interface Wanted {
  /** How many classes; more than there are gives all. */
  readonly count: number;
  readonly labels: readonly string[];
  /** Whether the first dimension is the batch, of which each item is classified by itself. */
  readonly batched: boolean;
}

/**
 * The largest values of a tensor that has some as BYTES "value:index[:label]", largest first: the classification extension as 2.51 does
 * it. Floating-point values have six digits behind the point.
 */
export function classify({ datatype, shape, bytes }: Tensor, { count, labels, batched }: Wanted) {
  const values = viewOf(datatype, bytes);
  const items = batched ? (shape[0] ?? 1) : 1;
  const size = elementCount(shape) / items;
  const kept = count === 0 ? 0 : Math.min(count, size);
  const texts: string[] = [];
  for (let item = 0; item < items; item += 1) texts.push(...largest(values, item * size, size, kept, labels, datatype));
  return { shape: batched ? [items, kept] : [kept], bytes: serializeElements(texts) };
}

function largest(
  values: Elements,
  from: number,
  size: number,
  kept: number,
  labels: readonly string[],
  datatype: Datatype,
): string[] {
  const at = (index: number) => values[from + index] as number | bigint;
  const order = stdSort(
    Array.from({ length: size }, (_, index) => index),
    (a, b) => at(a) > at(b),
  );
  const isFloat = datatype === 'FP32' || datatype === 'FP64';
  return order.slice(0, kept).map((index) => {
    const value = at(index);
    const label = labels[index];
    const text = isFloat ? fixed(value as number) : String(value);
    return `${text}:${index}${label === undefined || label === '' ? '' : `:${label}`}`;
  });
}

/** As std::to_string. */
function fixed(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const digits = millionths(Math.abs(value)).toString().padStart(7, '0');
  return `${value < 0 || Object.is(value, -0) ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/** How many millionths a number is, to the nearest, and to the even one of two: Number.toFixed takes the larger. */
function millionths(value: number): bigint {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const word = bits.getBigUint64(0);
  const exponent = Number((word >> 52n) & 0x7ffn);
  const fraction = word & (2n ** 52n - 1n);
  const mantissa = (exponent === 0 ? fraction : fraction | (2n ** 52n)) * 1_000_000n;
  const shift = Math.max(exponent, 1) - 1075;
  if (shift >= 0) return mantissa << BigInt(shift);
  const divisor = 1n << BigInt(-shift);
  const whole = mantissa / divisor;
  const twice = 2n * (mantissa % divisor);
  const up = twice > divisor || (twice === divisor && whole % 2n === 1n);
  return up ? whole + 1n : whole;
}
