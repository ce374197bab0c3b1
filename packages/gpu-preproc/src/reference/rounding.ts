/** Rounds to the nearest integer, halves to the even one: Python's `round` and the default mode of IEEE 754. Never −0. */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const fraction = value - below;
  const up = fraction > 0.5 || (fraction === 0.5 && below % 2 !== 0);
  return (up ? below + 1 : below) + 0;
}

/**
 * The bit pattern of the IEEE 754 binary16 value nearest to `value`, halves to even. Values of 65520 and more become
 * infinity, NaN the quiet NaN 0x7e00.
 */
export function float16Bits(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  // Below 2^-14 the spacing is that of the subnormals, 2^-24; above, 2^-10 of the value's power of two.
  let exponent = -14;
  while (exponent < 15 && magnitude >= 2 ** (exponent + 1)) exponent++;
  const steps = roundHalfEven(magnitude / 2 ** (exponent - 10));
  // A carry out of the ten fraction bits runs into the exponent, which is what rounding up to the next power needs.
  return sign | (steps < 1024 ? steps : ((exponent + 15) << 10) + (steps - 1024));
}
