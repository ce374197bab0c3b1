import { seeded } from '@zerohop/test-support';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { exifOrientation } from '../../src/decode/exif.js';
import {
  type ExifEntry,
  type ExifShape,
  exifPayload,
  numberBytes,
  orientationEntry,
  SHORT,
  segment,
  withSegments,
} from '../exif-jpeg.js';

const APP1 = 0xe1;
const SEED = 20261201;

/** A JPEG of 8 x 8 without metadata. */
const bare = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#888' } })
  .jpeg()
  .toBuffer();

const withExif = (shape: Partial<ExifShape> = {}) =>
  withSegments(
    bare,
    segment(APP1, exifPayload({ little: true, entries: [orientationEntry(6, shape.little ?? true)], ...shape })),
  );

/** What sharp turns by; undefined where it refuses the file. */
const sharpOrientation = (jpeg: Uint8Array): Promise<number | undefined> =>
  sharp(jpeg)
    .metadata()
    .then(
      ({ orientation }) => orientation ?? 1,
      () => undefined,
    );

const entry = (type: number, count: number, value: readonly number[]): ExifEntry => ({
  tag: 0x0112,
  type,
  count,
  value,
});
const other = (tag: number): ExifEntry => ({ tag, type: SHORT, count: 1, value: [3, 0, 0, 0] });
const XMP = [...new TextEncoder().encode('http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x="adobe:ns:meta/"/>')];

const exifOf = (orientation: number, little = true): number[] =>
  segment(APP1, exifPayload({ little, entries: [orientationEntry(orientation, little)] }));

describe('the orientation of a JPEG, as sharp reads it', () => {
  test.each<[string, Uint8Array, number]>([
    ...[1, 2, 3, 4, 5, 6, 7, 8].flatMap((orientation): [string, Uint8Array, number][] => [
      [`${orientation}, little endian`, withSegments(bare, exifOf(orientation)), orientation],
      [`${orientation}, big endian`, withSegments(bare, exifOf(orientation, false)), orientation],
    ]),
    ...[0, 9, 255, 65535].map((value): [string, Uint8Array, number] => [
      `the value ${value}`,
      withSegments(bare, exifOf(value)),
      1,
    ]),
    ['no segment', bare, 1],
    ['XMP before Exif', withSegments(bare, [...segment(APP1, XMP), ...exifOf(8)]), 8],
    ['XMP alone', withSegments(bare, segment(APP1, XMP)), 1],
    ['two Exif segments: the first', withSegments(bare, [...exifOf(3), ...exifOf(8)]), 3],
    [
      'an Exif segment without orientation first',
      withSegments(bare, [...segment(APP1, exifPayload({ little: true, entries: [other(0x0100)] })), ...exifOf(8)]),
      1,
    ],
    [
      'a segment of "Exif" alone first',
      withSegments(bare, [...segment(APP1, [0x45, 0x78, 0x69, 0x66]), ...exifOf(8)]),
      8,
    ],
    ['a comment before', withSegments(bare, [...segment(0xfe, [1, 2, 3]), ...exifOf(5)]), 5],
    ['fill bytes before the marker', withSegments(bare, [0xff, 0xff, 0xff, ...exifOf(6)]), 6],
    ['an entry of another tag before', withExif({ entries: [other(0x0100), orientationEntry(6, true)] }), 6],
    ['two entries: the first', withExif({ entries: [orientationEntry(5, true), orientationEntry(6, true)] }), 5],
    ['a LONG', withExif({ entries: [entry(4, 1, [6, 0, 0, 0])] }), 6],
    ['a big endian LONG', withExif({ little: false, entries: [entry(4, 1, [0, 0, 0, 6])] }), 6],
    ['a signed SHORT', withExif({ entries: [entry(8, 1, [6, 0, 0, 0])] }), 6],
    ['a BYTE', withExif({ entries: [entry(1, 1, [6, 0, 0, 0])] }), 6],
    ['the low half of a LONG', withExif({ entries: [entry(4, 1, [6, 0, 1, 0])] }), 6],
    ['a RATIONAL', withExif({ entries: [entry(5, 1, [26, 0, 0, 0])], tail: [6, 0, 0, 0, 2, 0, 0, 0] }), 6],
    ['a FLOAT', withExif({ entries: [entry(11, 1, [0, 0, 0xc0, 0x40])] }), 1],
    ['nine values', withExif({ entries: [entry(1, 9, [26, 0, 0, 0])], tail: [6, 0, 0, 0, 0, 0, 0, 0, 0] }), 6],
    ['ten values', withExif({ entries: [entry(1, 10, [26, 0, 0, 0])], tail: [6, 0, 0, 0, 0, 0, 0, 0, 0, 0] }), 1],
    ['ASCII', withExif({ entries: [entry(2, 2, [0x36, 0, 0, 0])] }), 1],
    ['an unknown type', withExif({ entries: [entry(99, 1, [6, 0, 0, 0])] }), 1],
    ['two values', withExif({ entries: [entry(SHORT, 2, [6, 0, 8, 0])] }), 6],
    ['no value', withExif({ entries: [entry(SHORT, 0, [6, 0, 0, 0])] }), 1],
    ['values elsewhere', withExif({ entries: [entry(SHORT, 3, [26, 0, 0, 0])], tail: [7, 0, 1, 0, 1, 0] }), 7],
    ['values outside', withExif({ entries: [entry(SHORT, 3, [200, 0, 0, 0])] }), 1],
    [
      'an unreadable entry before a readable one',
      withExif({ entries: [entry(SHORT, 3, [200, 0, 0, 0]), orientationEntry(6, true)] }),
      6,
    ],
    ['a directory outside', withExif({ directory: 5000 }), 1],
    ['a directory far outside', withExif({ directory: 0xffffffff }), 1],
    ['more entries than there are bytes', withExif({ entryCount: 65535 }), 6],
    ['no entries', withExif({ entryCount: 0 }), 1],
  ])('%s', async (_, jpeg, expected) => {
    expect(exifOrientation(jpeg)).toBe(expected);
    expect(await sharpOrientation(jpeg)).toBe(expected);
  });

  test('cut anywhere: never a throw, and 1 until the segment is whole', () => {
    const jpeg = withExif();
    const whole = 2 + exifOf(6).length;
    for (let length = 0; length <= jpeg.length; length++) {
      // A copy of exactly so many bytes in poisoned memory: what is read past the end would show.
      const memory = new Uint8Array(length + 64).fill(6);
      memory.set(jpeg.subarray(0, length));
      expect({ length, orientation: exifOrientation(memory.subarray(0, length)) }).toEqual({
        length,
        orientation: length < whole ? 1 : 6,
      });
    }
  });

  test('of what is no JPEG it is 1', () => {
    expect(exifOrientation(new Uint8Array(0))).toBe(1);
    expect(exifOrientation(Uint8Array.from([0x89, 0x50, 0x4e, 0x47]))).toBe(1);
    expect(exifOrientation(Uint8Array.from([0xff, 0xd8, ...exifOf(6).slice(0, 3)]))).toBe(1);
  });

  test('an Exif segment after the scan has begun does not count', async () => {
    const jpeg = Uint8Array.from([...bare.subarray(0, bare.length - 2), ...exifOf(6), 0xff, 0xd9]);
    expect(exifOrientation(jpeg)).toBe(1);
    expect(await sharpOrientation(jpeg)).toBe(1);
  });

  test(`4,000 headers at random, seed ${SEED}: the answer of sharp for all that it opens`, async () => {
    const { next, integer } = seeded(SEED);
    const pick = <T>(values: readonly T[]): T => values[integer(0, values.length - 1)] as T;
    const anyEntry = (little: boolean): ExifEntry => ({
      tag: pick([0x0112, 0x0112, 0x0112, 0x0100, 0x010f, 0x8769, 0x8825, 0x0000]),
      type: pick([SHORT, SHORT, SHORT, 4, 8, 9, integer(0, 14), 65535]),
      count: pick([1, 1, 1, 0, 2, 3, 9, 10, 0xffffffff, 0x40000001, integer(0, 300)]),
      value: pick([
        [...numberBytes(integer(0, 9), 2, little), 0, 0],
        numberBytes(integer(0, 9), 4, little),
        numberBytes(integer(0, 120), 4, little),
        numberBytes(pick([0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 0x10006]), 4, little),
      ]),
    });
    const anySegment = (): number[] => {
      const kind = next();
      if (kind < 0.1) return segment(APP1, XMP);
      if (kind < 0.15) return segment(pick([0xe0, 0xe2, 0xfe]), [1, 2, 3, 4, 5, 6]);
      if (kind < 0.2) return [0xff, pick([0xff, 0x01, 0x00])];
      if (kind < 0.25) return [integer(0, 254), integer(0, 254)];
      const little = next() < 0.5;
      const shape = {
        little,
        entries: Array.from({ length: integer(1, 4) }, () => anyEntry(little)),
        tail: Array.from({ length: integer(0, 80) }, () => (next() < 0.5 ? 0 : integer(0, 9))),
        ...(next() < 0.2 && { entryCount: pick([0, 1, 2, 5, 300, 65535]) }),
        ...(next() < 0.2 && { directory: pick([0, 1, 7, 9, 20, 60, 0xfffffffe, 0x7fffffff]) }),
      };
      const payload = exifPayload(shape);
      // Some with changed bytes, some cut.
      if (next() < 0.3) payload[integer(0, Math.min(40, payload.length - 1))] = integer(0, 255);
      return segment(APP1, next() < 0.1 ? payload.slice(0, integer(0, payload.length)) : payload);
    };
    const found = new Map<number, number>();
    const wrong: unknown[] = [];
    for (let i = 0; i < 4000; i++) {
      const jpeg = withSegments(bare, Array.from({ length: integer(1, 3) }, anySegment).flat());
      const [ours, theirs] = [exifOrientation(jpeg), await sharpOrientation(jpeg)];
      if (theirs === undefined) continue;
      found.set(ours, (found.get(ours) ?? 0) + 1);
      if (ours !== theirs) wrong.push({ i, ours, theirs, jpeg: Buffer.from(jpeg.subarray(0, 200)).toString('hex') });
    }
    expect(wrong).toEqual([]);
    expect([...found.keys()].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
