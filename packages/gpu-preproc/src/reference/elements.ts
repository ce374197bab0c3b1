import { float16Bits, roundHalfEven } from './rounding.js';

/** What is written. */
export type ElementType = 'FP32' | 'FP16' | 'UINT8' | 'INT8';

export const ELEMENT_BYTES: Readonly<Record<ElementType, number>> = { FP32: 4, FP16: 2, UINT8: 1, INT8: 1 };

const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

/** A normalised value as the bits of one element; INT8 and UINT8 rounded half to even and saturated. */
export function elementBits(datatype: ElementType, value: number): number {
  switch (datatype) {
    case 'FP32':
      float[0] = value;
      return floatBits[0] as number;
    case 'FP16':
      return float16Bits(value);
    case 'UINT8':
      return Math.min(Math.max(roundHalfEven(value), 0), 255);
    case 'INT8':
      return Math.min(Math.max(roundHalfEven(value), -128), 127) & 0xff;
  }
}
