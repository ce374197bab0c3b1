/** Noise bytes from a seed; `opencv_oracle.py` makes the same ones. */
export function noise(seed: number, count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    let x = Math.imul((i + seed) >>> 0, 0x9e3779b1);
    x ^= x >>> 15;
    x = Math.imul(x, 0x85ebca77);
    x ^= x >>> 13;
    bytes[i] = x >>> 24;
  }
  return bytes;
}
