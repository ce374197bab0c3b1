import { checkInteger, invalid } from './check.js';
import type { DeviceMemory } from './memory.js';
import type { PinnedMemory } from './pinned-memory.js';

const SIZES = { i8: 1, u8: 1, i16: 2, u16: 2, i32: 4, u32: 4, i64: 8, u64: 8, f32: 4, f64: 8, pointer: 8 } as const;

/** A kind of number, as C has it. FP16 and BF16 go as `u16`, by their bit patterns. */
export type ScalarType = Exclude<keyof typeof SIZES, 'pointer'>;

/** A struct that is passed by value. */
export interface StructType {
  /** Its size in bytes, as C's `sizeof` says. */
  readonly bytes: number;
  /**
   * Its alignment in bytes, as C's `alignof` says.
   *
   * @defaultValue `8`
   */
  readonly align?: 1 | 2 | 4 | 8 | 16;
}

/** The kind of one parameter of a kernel. */
export type ParameterType = 'pointer' | ScalarType | StructType;

/** The kinds of a kernel's parameters, in order. */
export type Signature = readonly ParameterType[];

/** What is passed for a parameter: memory (or null) for a pointer, numbers for numbers, the bytes of a struct. */
export type Argument<P extends ParameterType> = P extends 'pointer'
  ? DeviceMemory | PinnedMemory | null
  : P extends 'i64' | 'u64'
    ? bigint | number
    : P extends StructType
      ? ArrayBufferView
      : number;

/** What is passed for a signature. */
export type Arguments<S extends Signature> = { -readonly [K in keyof S]: Argument<S[K]> };

export interface Parameter {
  readonly type: 'pointer' | ScalarType | 'struct';
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** Where each argument lies, as the C compiler for the device lays them out: each at a multiple of its alignment. */
export interface Layout {
  readonly parameters: readonly Parameter[];
  readonly byteLength: number;
}

/** What a kernel can take in all since CUDA 12.1 ("Kernel parameter limit", 32,764 bytes). */
const MAX_BYTES = 32764;

/**
 * @throws TypeError | RangeError when the signature is malformed.
 */
export function layOut(signature: unknown): Layout {
  if (!Array.isArray(signature)) throw invalid('signature', 'array of parameter types', signature);
  const parameters: Parameter[] = [];
  let end = 0;
  for (const [index, type] of (signature as unknown[]).entries()) {
    const { byteLength, align, name } = measure(`signature[${index}]`, type);
    const byteOffset = Math.ceil(end / align) * align;
    parameters.push({ type: name, byteOffset, byteLength });
    end = byteOffset + byteLength;
  }
  if (end > MAX_BYTES) throw invalid('signature', `parameters of at most ${MAX_BYTES} bytes`, end, RangeError);
  return { parameters, byteLength: end };
}

function measure(at: string, type: unknown): { byteLength: number; align: number; name: Parameter['type'] } {
  if (typeof type === 'string' && Object.hasOwn(SIZES, type)) {
    const name = type as keyof typeof SIZES;
    return { byteLength: SIZES[name], align: SIZES[name], name };
  }
  if (typeof type !== 'object' || type === null) {
    throw invalid(at, `one of ${Object.keys(SIZES).join(', ')}, or { bytes, align }`, type);
  }
  const { bytes, align = 8 } = type as { bytes?: unknown; align?: unknown };
  checkInteger(`${at}.bytes`, bytes, 1, MAX_BYTES);
  if (align !== 1 && align !== 2 && align !== 4 && align !== 8 && align !== 16) {
    throw invalid(`${at}.align`, 'one of 1, 2, 4, 8, 16', align, RangeError);
  }
  return { byteLength: bytes, align, name: 'struct' };
}
