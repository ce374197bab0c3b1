/** Moves a buffer's memory to another one, which the addon does not know. Node 20 has no transfer(), later ones allow no other way. */
export function move(buffer: ArrayBuffer): ArrayBuffer {
  const { transfer } = buffer as ArrayBuffer & { transfer?: () => ArrayBuffer };
  return transfer === undefined ? structuredClone(buffer, { transfer: [buffer] }) : transfer.call(buffer);
}
