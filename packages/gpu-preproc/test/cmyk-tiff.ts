/** An uncompressed big-endian TIFF of four 16-bit inks, which no library at hand writes. */
export function cmykTiff16(width: number, height: number, inks: Uint8Array): Uint8Array {
  const samples = 4;
  const directory = 8 + inks.length;
  const SHORT = 3;
  const LONG = 4;
  const entries: [tag: number, type: number, count: number, value: number][] = [
    [256, LONG, 1, width],
    [257, LONG, 1, height],
    [258, SHORT, samples, 0],
    [259, SHORT, 1, 1],
    [262, SHORT, 1, 5],
    [273, LONG, 1, 8],
    [277, SHORT, 1, samples],
    [278, LONG, 1, height],
    [279, LONG, 1, inks.length],
  ];
  const depths = directory + 2 + 12 * entries.length + 4;
  const file = Buffer.alloc(depths + 2 * samples);
  file.write('MM');
  file.writeUInt16BE(42, 2);
  file.writeUInt32BE(directory, 4);
  file.set(inks, 8);
  file.writeUInt16BE(entries.length, directory);
  for (const [i, [tag, type, count, value]] of entries.entries()) {
    const at = directory + 2 + 12 * i;
    file.writeUInt16BE(tag, at);
    file.writeUInt16BE(type, at + 2);
    file.writeUInt32BE(count, at + 4);
    if (count > 1) file.writeUInt32BE(depths, at + 8);
    else if (type === SHORT) file.writeUInt16BE(value, at + 8);
    else file.writeUInt32BE(value, at + 8);
  }
  for (let i = 0; i < samples; i++) file.writeUInt16BE(16, depths + 2 * i);
  return file;
}
