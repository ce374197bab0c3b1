/** Says in words how bytes differ from those that were expected, of the same number; undefined when they do not. */
export function byteDifference(seen: Uint8Array, expected: Uint8Array): string | undefined {
  if (Buffer.compare(seen, expected) === 0) return undefined;
  const wrong = expected.reduce((count, byte, i) => count + (byte === seen[i] ? 0 : 1), 0);
  const first = expected.findIndex((byte, i) => byte !== seen[i]);
  const zeros = seen.every((byte) => byte === 0) ? '; what was read is all zeros' : '';
  return `${wrong} of ${expected.byteLength} bytes are wrong, the first at ${first}${zeros}`;
}
