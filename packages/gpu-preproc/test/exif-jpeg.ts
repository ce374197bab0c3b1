/** Builds JPEGs around an Exif segment, well formed or not. */

export interface ExifEntry {
  readonly tag: number;
  readonly type: number;
  readonly count: number;
  /** The entry's four bytes: the value, or where it is. */
  readonly value: readonly number[];
}

export const SHORT = 3;

/** `value` in `bytes` bytes. */
export function numberBytes(value: number, bytes: number, little: boolean): number[] {
  const big = Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** (bytes - 1 - i)) % 256);
  return little ? big.reverse() : big;
}

export interface ExifShape {
  readonly little: boolean;
  readonly entries: readonly ExifEntry[];
  /** Said to be in the directory; as many as there are unless given. */
  readonly entryCount?: number;
  /** Where the directory is, from the byte order mark; the directory itself is at 8. */
  readonly directory?: number;
  /** After the directory: values that don't fit into their entry. */
  readonly tail?: readonly number[];
}

/** "Exif", 0, 0 and a TIFF structure with one directory. */
export function exifPayload({ little, entries, entryCount, directory, tail }: ExifShape): number[] {
  const u16 = (value: number) => numberBytes(value, 2, little);
  const u32 = (value: number) => numberBytes(value, 4, little);
  return [
    ...[0x45, 0x78, 0x69, 0x66, 0, 0],
    ...(little ? [0x49, 0x49] : [0x4d, 0x4d]),
    ...u16(42),
    ...u32(directory ?? 8),
    ...u16(entryCount ?? entries.length),
    ...entries.flatMap(({ tag, type, count, value }) => [...u16(tag), ...u16(type), ...u32(count), ...value]),
    ...u32(0),
    ...(tail ?? []),
  ];
}

/** An orientation as cameras write it. */
export const orientationEntry = (orientation: number, little: boolean): ExifEntry => ({
  tag: 0x0112,
  type: SHORT,
  count: 1,
  value: [...numberBytes(orientation, 2, little), 0, 0],
});

export const segment = (marker: number, payload: readonly number[]): number[] => [
  ...[0xff, marker],
  ...numberBytes(payload.length + 2, 2, false),
  ...payload,
];

/** The JPEG with bytes put between its first marker and what follows. */
export function withSegments(jpeg: Uint8Array, inserted: readonly number[]): Uint8Array {
  return Uint8Array.from([...jpeg.subarray(0, 2), ...inserted, ...jpeg.subarray(2)]);
}
