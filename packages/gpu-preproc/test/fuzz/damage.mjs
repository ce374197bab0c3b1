// Ways to damage a picture. Each takes the good bytes and a seeded generator and gives other bytes.
import { crc32, deflateSync } from './png.mjs';

const copy = (bytes) => Buffer.from(bytes);
const MAGIC = {
  JPEG: Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
  PNG: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  WebP: Buffer.from('RIFF\0\0\0\0WEBP', 'latin1'),
  TIFF: Buffer.from([0x49, 0x49, 0x2a, 0x00]),
};

function flip(bytes, random, from, to) {
  const out = copy(bytes);
  for (let changes = random.integer(1, 8); changes > 0; changes -= 1) {
    const at = random.integer(from, Math.min(to, out.length) - 1);
    out[at] = random.next() < 0.5 ? out[at] ^ (1 << random.integer(0, 7)) : random.pick([0, 1, 0x7f, 0x80, 0xff]);
  }
  return out;
}

/** Every segment of a JPEG with this marker: where its payload begins and how long it is. */
function segments(jpeg, markers) {
  const found = [];
  for (let at = 2; at + 4 <= jpeg.length && jpeg[at] === 0xff && jpeg[at + 1] !== 0xda; ) {
    const length = jpeg.readUInt16BE(at + 2);
    if (markers.includes(jpeg[at + 1])) found.push({ start: at + 4, length: length - 2 });
    at += 2 + length;
  }
  return found;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), 4 + body.length);
  return out;
}

function png(width, height, { depth = 8, type = 2, palette, data }) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, type, 0, 0, 0], 8);
  return Buffer.concat([
    MAGIC.PNG,
    chunk('IHDR', header),
    ...(palette ? [chunk('PLTE', palette)] : []),
    chunk('IDAT', deflateSync(data)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Where an entry of the first directory of a TIFF is; undefined if it has none of this tag. */
function tiffEntry(tiff, tag) {
  const little = tiff[0] === 0x49;
  const u16 = (at) => (little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  for (let i = 0; i < u16(directory); i += 1) {
    const at = directory + 2 + 12 * i;
    if (u16(at) === tag) return { at, little };
  }
  return undefined;
}

function setSize(container, bytes, width, height) {
  const out = copy(bytes);
  if (container === 'JPEG') {
    for (const { start } of segments(out, [0xc0, 0xc1, 0xc2])) {
      out.writeUInt16BE(Math.min(height, 65535), start + 1);
      out.writeUInt16BE(Math.min(width, 65535), start + 3);
    }
  } else if (container === 'PNG') {
    out.writeUInt32BE(width, 16);
    out.writeUInt32BE(height, 20);
    out.writeUInt32BE(crc32(out.subarray(12, 29)), 29);
  } else if (container === 'WebP') {
    const kind = out.toString('latin1', 12, 16);
    if (kind === 'VP8X') {
      out.writeUIntLE((width - 1) & 0xffffff, 24, 3);
      out.writeUIntLE((height - 1) & 0xffffff, 27, 3);
    } else if (kind === 'VP8 ') {
      out.writeUInt16LE(width & 0x3fff, 26);
      out.writeUInt16LE(height & 0x3fff, 28);
    } else out.writeUInt32LE((((height - 1) & 0x3fff) * 16384 + ((width - 1) & 0x3fff)) >>> 0, 21);
  } else {
    for (const [tag, value] of [
      [256, width],
      [257, height],
    ]) {
      const { at, little } = tiffEntry(out, tag);
      // A LONG, whatever it was.
      out.set(little ? [4, 0] : [0, 4], at + 2);
      if (little) out.writeUInt32LE(value, at + 8);
      else out.writeUInt32BE(value, at + 8);
    }
  }
  return out;
}

/** A TIFF whose directories are a chain: long, or one that comes back. */
function directoryChain(random, bytes) {
  const little = bytes[0] === 0x49;
  const write = (out, value, at) => (little ? out.writeUInt32LE(value, at) : out.writeUInt32BE(value, at));
  const first = little ? bytes.readUInt32LE(4) : bytes.readUInt32BE(4);
  const entries = little ? bytes.readUInt16LE(first) : bytes.readUInt16BE(first);
  const link = first + 2 + 12 * entries;
  const size = 2 + 12 * entries + 4;
  const count = random.pick([1, 2, 50, 2000]);
  const out = Buffer.concat([bytes, ...Array.from({ length: count }, () => bytes.subarray(first, first + size))]);
  write(out, bytes.length, link);
  for (let i = 0; i < count; i += 1) {
    const last = random.pick([0, first, bytes.length, 0xffffffff]);
    write(out, i + 1 < count ? bytes.length + size * (i + 1) : last, bytes.length + size * i + size - 4);
  }
  return out;
}

/** What the outcome has to be: `any` is a tensor or a typed refusal. */
export const DAMAGES = {
  whole: { make: copy, outcome: 'tensor' },
  cut: { make: (bytes, random) => bytes.subarray(0, random.integer(0, bytes.length)), outcome: 'any' },
  flipped: { make: (bytes, random) => flip(bytes, random, 0, bytes.length), outcome: 'any' },
  'flipped header': { make: (bytes, random) => flip(bytes, random, 4, random.pick([32, 64, 256])), outcome: 'any' },
  spliced: {
    make(bytes, random) {
      const at = random.integer(4, bytes.length - 1);
      const end = random.integer(at, Math.min(bytes.length, at + 400));
      const piece = bytes.subarray(at, end);
      return Buffer.concat(
        random.next() < 0.5
          ? [bytes.subarray(0, end), piece, bytes.subarray(end)]
          : [bytes.subarray(0, at), bytes.subarray(end)],
      );
    },
    outcome: 'any',
  },
  'huge size': {
    make: (bytes, random, container) =>
      setSize(container, bytes, random.pick([16383, 65535, 9000]), random.pick([16384, 65535, 9001])),
    outcome: 'refused',
  },
  'size of zero': {
    make: (bytes, random, container) => setSize(container, bytes, random.pick([0, 0, 5]), 0),
    // A WebP's header holds the size less one, or is wrong in another way.
    outcome: 'any',
  },
  'other size': {
    make: (bytes, random, container) => setSize(container, bytes, random.integer(1, 400), random.integer(1, 400)),
    outcome: 'any',
  },
  'bad tables': {
    make(bytes, random, container) {
      const tables = container === 'JPEG' ? segments(bytes, [0xc4, 0xdb]) : [];
      if (tables.length === 0) return flip(bytes, random, bytes.length >> 1, bytes.length);
      const out = copy(bytes);
      const { start, length } = random.pick(tables);
      for (let i = 0; i < length; i += 1)
        if (random.next() < 0.3) out[start + i] = random.pick([0, 1, 16, 255, random.integer(0, 255)]);
      return out;
    },
    outcome: 'any',
  },
  'other magic': {
    make(bytes, random) {
      const magic = random.pick([
        ...Object.values(MAGIC),
        Buffer.from('GIF89a'),
        Buffer.from('<svg'),
        Buffer.from('%PDF'),
      ]);
      const out = copy(bytes);
      magic.copy(out);
      return out;
    },
    outcome: 'any',
  },
  'magic and noise': {
    make: (_, random) =>
      Buffer.concat([
        random.pick(Object.values(MAGIC)),
        Uint8Array.from({ length: random.integer(0, 600) }, () => random.integer(0, 255)),
      ]),
    outcome: 'refused',
  },
  bomb: {
    make: (_, random) =>
      png(random.pick([9000, 30000, 65000]), random.pick([9000, 65000]), { data: Buffer.alloc(1 << 20) }),
    outcome: 'refused',
  },
  'palette out of range': {
    make(_, random) {
      const [width, height] = [random.integer(1, 90), random.integer(1, 90)];
      const data = Buffer.from(
        Array.from({ length: (width + 1) * height }, (_, i) => (i % (width + 1) === 0 ? 0 : random.integer(0, 255))),
      );
      return png(width, height, { type: 3, palette: Buffer.alloc(3 * random.integer(1, 20), 99), data });
    },
    outcome: 'any',
  },
  'directory chain': {
    make: (bytes, random, container) =>
      container === 'TIFF' ? directoryChain(random, bytes) : flip(bytes, random, 0, bytes.length),
    outcome: 'any',
  },
  empty: { make: (bytes, random) => bytes.subarray(0, random.integer(0, 12)), outcome: 'refused' },
};
