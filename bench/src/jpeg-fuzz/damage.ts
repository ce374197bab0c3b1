import type { Random } from '@zerohop/test-support/seeded';

interface Segment {
  readonly marker: number;
  /** Where its contents begin, after the length. */
  readonly start: number;
  readonly length: number;
}

const SOS = 0xda;
const DQT = 0xdb;
const DHT = 0xc4;
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xc2;

function segments(jpeg: Buffer): Segment[] {
  const found: Segment[] = [];
  for (let at = 2; at + 4 <= jpeg.length && jpeg[at] === 0xff; ) {
    const marker = jpeg[at + 1] as number;
    const length = jpeg.readUInt16BE(at + 2);
    found.push({ marker, start: at + 4, length: length - 2 });
    if (marker === SOS) break;
    at += 2 + length;
  }
  return found;
}

function flip(jpeg: Buffer, random: Random, from: number, to: number): Buffer {
  for (let changes = random.integer(1, 8); changes > 0; changes -= 1) {
    const at = random.integer(from, Math.max(from, to - 1));
    jpeg[at] =
      random.next() < 0.5 ? (jpeg[at] as number) ^ (1 << random.integer(0, 7)) : random.pick([0, 1, 0x7f, 0xff]);
  }
  return jpeg;
}

function setSize(jpeg: Buffer, width: number, height: number): Buffer {
  for (const { start } of segments(jpeg).filter(({ marker }) => isFrame(marker))) {
    jpeg.writeUInt16BE(height, start + 1);
    jpeg.writeUInt16BE(width, start + 3);
  }
  return jpeg;
}

/** Bytes of segments of these kinds set at random. */
function spoil(jpeg: Buffer, random: Random, wanted: (marker: number) => boolean, share: number): Buffer {
  for (const { start, length } of segments(jpeg).filter(({ marker }) => wanted(marker))) {
    for (let i = start; i < start + length; i += 1) {
      if (random.next() < share) jpeg[i] = random.pick([0, 1, 16, 255, random.integer(0, 255)]);
    }
  }
  return jpeg;
}

/** Where the compressed pixels begin. */
function scanStart(jpeg: Buffer): number {
  const last = segments(jpeg).at(-1);
  return last === undefined ? 2 : last.start + last.length;
}

/** Ways to damage a JPEG; each may change the copy it is given. */
export const DAMAGES: Readonly<Record<string, (jpeg: Buffer, random: Random) => Buffer>> = {
  cut: (jpeg, random) => jpeg.subarray(0, random.integer(0, jpeg.length)),
  'flipped bytes': (jpeg, random) => flip(jpeg, random, 2, jpeg.length),
  'flipped header': (jpeg, random) => flip(jpeg, random, 2, scanStart(jpeg)),
  'flipped pixels': (jpeg, random) => flip(jpeg, random, scanStart(jpeg), jpeg.length),
  'huge size': (jpeg, random) => setSize(jpeg, random.pick([16384, 65535]), random.pick([16384, 65535])),
  'size of zero': (jpeg, random) => setSize(jpeg, random.pick([0, 64]), 0),
  'other size': (jpeg, random) => setSize(jpeg, random.integer(1, 400), random.integer(1, 400)),
  'bad quantisation': (jpeg, random) => spoil(jpeg, random, (marker) => marker === DQT, 0.3),
  'bad Huffman tables': (jpeg, random) => spoil(jpeg, random, (marker) => marker === DHT, 0.1),
  'bad frame': (jpeg, random) => spoil(jpeg, random, isFrame, 0.2),
  'bad scan header': (jpeg, random) => spoil(jpeg, random, (marker) => marker === SOS, 0.3),
  spliced: (jpeg, random) => {
    const at = random.integer(2, jpeg.length - 1);
    const end = random.integer(at, Math.min(jpeg.length, at + 400));
    const piece = jpeg.subarray(at, end);
    return random.next() < 0.5
      ? Buffer.concat([jpeg.subarray(0, end), piece, jpeg.subarray(end)])
      : Buffer.concat([jpeg.subarray(0, at), jpeg.subarray(end)]);
  },
  'restart markers': (jpeg, random) => {
    for (let i = random.integer(1, 6); i > 0; i -= 1) {
      const at = random.integer(scanStart(jpeg), Math.max(scanStart(jpeg), jpeg.length - 2));
      jpeg.set([0xff, random.integer(0xd0, 0xd9)].slice(0, jpeg.length - at), at);
    }
    return jpeg;
  },
};
