import { expect } from 'vitest';

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) => Buffer.from(buffer, byteOffset, byteLength);

/** `toEqual` for typed arrays of any size: it alone takes a second for some hundred thousand elements. */
export function expectSame(actual: ArrayBufferView, expected: ArrayBufferView): void {
  if (!bytesOf(actual).equals(bytesOf(expected))) expect(actual).toEqual(expected);
}
