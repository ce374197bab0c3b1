import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Device, type DeviceMemory } from '../../src/index.js';
import { JpegDecoder, JpegError } from '../../src/nvjpeg.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { join, jpegSegments, MARKER, SAMPLINGS, type Segment, segment, writeJpeg } from '../support/jpeg-writer.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();

const small = { width: 40, height: 24, sampling: SAMPLINGS['4:2:0'] };
const sound = writeJpeg(small);

/** A sound file of which `change` makes another. */
function altered(change: (segments: Segment[]) => Segment[] | undefined, options = small): Buffer {
  const segments = jpegSegments(options).map((each) => ({ ...each, contents: Buffer.from(each.contents) }));
  return join(change(segments) ?? segments);
}

/** The first segment with this marker. */
function one(segments: Segment[], marker: number): Segment {
  const found = segments.find((each) => each.marker === marker);
  if (found === undefined) throw new Error(`no segment ${marker}`);
  return found;
}

const without = (marker: number) => (segments: Segment[]) => segments.filter((each) => each.marker !== marker);
const set = (marker: number, at: number, byte: number) => (segments: Segment[]) => {
  one(segments, marker).contents[at] = byte;
  return undefined;
};
const before = (marker: number, added: Segment) => (segments: Segment[]) =>
  segments.flatMap((each) => (each.marker === marker ? [added, each] : [each]));

const intervals = { ...small, restartInterval: 2 };
/** Table 0 of the given kind with these counts of codes, and as many symbols. */
const table = (kind: number, counts: number[], symbol = 0) =>
  segment(MARKER.DHT, [
    kind << 4,
    ...counts,
    ...Array<number>(16 - counts.length).fill(0),
    ...Array<number>(counts.reduce((sum, count) => sum + count, 0)).fill(symbol),
  ]);

const CORRUPT: [string, Buffer, string][] = [
  ['no JPEG', Buffer.from('\x89PNG\r\n'), 'does not begin'],
  ['bytes between segments', Buffer.concat([sound.subarray(0, 2), Buffer.from([0]), sound.subarray(2)]), 'between'],
  [
    'a marker that can not be',
    Buffer.concat([sound.subarray(0, 2), Buffer.from([0xff, 0x02]), sound.subarray(2)]),
    'marker',
  ],
  [
    'a segment of length 1',
    Buffer.concat([sound.subarray(0, 2), Buffer.from([0xff, 0xe1, 0, 1]), sound.subarray(2)]),
    'length',
  ],
  ['nothing but a beginning and an end', Buffer.from([0xff, 0xd8, 0xff, 0xd9]), 'no picture'],
  ['no scan', altered(without(MARKER.SOS)), 'no picture'],
  ['no frame header', altered(without(MARKER.SOF0)), 'before its frame header'],
  ['two frame headers', altered((segments) => [one(segments, MARKER.SOF0), ...segments]), 'two frame headers'],
  ['a short frame header', altered(before(MARKER.SOS, segment(MARKER.SOF0, [8, 0]))), 'two frame headers'],
  ['a frame header of the wrong length', altered(set(MARKER.SOF0, 5, 2)), 'wrong length'],
  [
    'a width of 0',
    altered((segments) => {
      one(segments, MARKER.SOF0).contents.fill(0, 3, 5);
      return undefined;
    }),
    'width is 0',
  ],
  ['a sampling factor of 0', altered(set(MARKER.SOF0, 7, 0x02)), 'sampling factor'],
  ['a sampling factor of 5', altered(set(MARKER.SOF0, 7, 0x51)), 'sampling factor'],
  ['components of the same name', altered(set(MARKER.SOF0, 9, 1)), 'the same name'],
  ['an impossible quantization table', altered(set(MARKER.SOF0, 8, 4)), 'quantization table'],
  ['no quantization table', altered(without(MARKER.DQT)), 'quantization table that is not there'],
  ['a quantization table cut short', altered((segments) => [segment(MARKER.DQT, [0, 1, 2]), ...segments]), 'cut short'],
  [
    'a quantization table of 12 bits',
    altered((segments) => [segment(MARKER.DQT, [0x20, ...Array(64).fill(1)]), ...segments]),
    "can't be",
  ],
  ['no Huffman tables', altered(without(MARKER.DHT)), 'Huffman table that is not there'],
  [
    'an empty Huffman table',
    altered((segments) => [
      ...without(MARKER.DHT)(segments).slice(0, -1),
      table(0, []),
      table(1, [1]),
      one(segments, MARKER.SOS),
    ]),
    'not there',
  ],
  ['a Huffman table of a third kind', altered((segments) => [table(2, [1]), ...segments]), "can't be"],
  ['more codes than there are', altered((segments) => [table(0, [1, 3]), ...segments]), 'more codes'],
  ['257 codes', altered((segments) => [table(0, [0, 0, 0, 0, 0, 0, 0, 0, 255, 2]), ...segments]), 'more codes'],
  [
    'a Huffman table cut short',
    altered((segments) => [segment(MARKER.DHT, [0, 2, ...Array(15).fill(0), 1]), ...segments]),
    'cut short',
  ],
  ['a difference of 16 bits', altered((segments) => [table(0, [1], 16), ...segments]), 'impossible symbols'],
  [
    'a restart interval of one byte',
    altered((segments) => [segment(MARKER.DRI, [1]), ...segments]),
    'restart interval',
  ],
  ['a scan of no components', altered(set(MARKER.SOS, 0, 0)), 'scan header'],
  ['a scan of an unknown component', altered(set(MARKER.SOS, 1, 9)), 'not there'],
  ['a component twice in a scan', altered(set(MARKER.SOS, 3, 1)), 'twice'],
  ['a scan with table 15', altered(set(MARKER.SOS, 2, 0xf0)), 'Huffman table'],
  ['two scans of the same', altered((segments) => [...segments, one(segments, MARKER.SOS)]), 'in two scans'],
  [
    'restart markers without an interval',
    altered((segments) => segments.filter((each) => each.marker !== MARKER.DRI), intervals),
    'out of place',
  ],
  [
    'restart markers in the wrong order',
    altered((segments) => {
      const { data } = one(segments, MARKER.SOS);
      data[data.indexOf(0xff) + 1] = 0xd5;
      return undefined;
    }, intervals),
    'out of place',
  ],
  ['too many restart markers', altered(set(MARKER.SOF0, 2, 8), intervals), 'too many'],
];

const progressive = (...scan: number[]) =>
  altered((segments) => {
    one(segments, MARKER.SOF0).marker = 0xc2;
    return [...segments.slice(0, -1), segment(MARKER.SOS, scan, [0x55])];
  });
const PROGRESSIVE: [string, Buffer, string][] = [
  ['of averages and the rest together', progressive(1, 1, 0, 0, 63, 0), 'progressive scan'],
  ['of two components but no averages', progressive(2, 1, 0, 2, 0, 1, 63, 0), 'progressive scan'],
  ['from 5 to 4', progressive(1, 1, 0, 5, 4, 0), 'progressive scan'],
  ['up to 64', progressive(1, 1, 0, 5, 64, 0), 'progressive scan'],
  ['shifted by 14', progressive(1, 1, 0, 1, 5, 0x0e), 'progressive scan'],
  ['that refines by two bits', progressive(1, 1, 0, 1, 5, 0x31), 'progressive scan'],
  ['without its table', progressive(1, 1, 3, 1, 5, 0), 'Huffman table'],
];
CORRUPT.push(...PROGRESSIVE.map(([name, ...rest]) => [`a progressive scan ${name}`, ...rest] as (typeof CORRUPT)[0]));

const TRUNCATED: [string, Buffer, string][] = [
  ['nothing', Buffer.alloc(0), 'less than two'],
  ['the first byte', sound.subarray(0, 1), 'less than two'],
  ['the beginning', sound.subarray(0, 2), 'end is missing'],
  ['half a marker', sound.subarray(0, 3), 'end is missing'],
  ['half a segment', sound.subarray(0, 40), 'cut short'],
  ['all but the end', sound.subarray(0, -2), 'does not end'],
  ['all but the last byte', sound.subarray(0, -1), 'does not end'],
  [
    'a scan without data',
    altered((segments) => {
      one(segments, MARKER.SOS).data = Buffer.alloc(0);
      return undefined;
    }),
    'empty',
  ],
  ['too few restart markers', altered((segments) => [segment(MARKER.DRI, [0, 1]), ...segments]), 'too few'],
  [
    'a component without a scan',
    altered((segments) => {
      one(segments, MARKER.SOS).contents = Buffer.from([2, 1, 0, 2, 0, 0, 63, 0]);
      return undefined;
    }),
    'has no scan',
  ],
];

const frame = (marker: number) => (segments: Segment[]) => {
  one(segments, MARKER.SOF0).marker = marker;
  return undefined;
};
/** A refinement of the DC coefficients, over and over. */
const refinements = Array<Segment>(100).fill(segment(MARKER.SOS, [1, 1, 0, 0, 0, 0x10], [0x55]));
const adobe = (transform: number) => segment(0xee, [...Buffer.from('Adobe'), 0, 100, 0, 0, 0, 0, transform]);

const UNSUPPORTED: [string, Buffer, string][] = [
  ['12 bits', altered(set(MARKER.SOF0, 0, 12)), '8 bits'],
  [
    'a height that comes later',
    altered((segments) => {
      one(segments, MARKER.SOF0).contents.fill(0, 1, 3);
      return undefined;
    }),
    'height',
  ],
  ['lossless', altered(frame(0xc3)), 'lossless'],
  ['hierarchical', altered(frame(0xc5)), 'hierarchical'],
  ['arithmetic', altered(frame(0xc9)), 'arithmetically'],
  [
    'two components',
    writeJpeg({
      ...small,
      sampling: [
        [1, 1],
        [1, 1],
      ],
    }),
    'neither one nor three',
  ],
  [
    'four components',
    writeJpeg({
      ...small,
      sampling: [
        [1, 1],
        [1, 1],
        [1, 1],
        [1, 1],
      ],
    }),
    'CMYK',
  ],
  ['red, green and blue, says Adobe', altered((segments) => [adobe(0), ...segments]), 'red, green and blue'],
  ['red, green and blue, say the names', writeJpeg({ ...small, ids: [82, 71, 66] }), 'red, green and blue'],
  [
    'more colour than brightness',
    writeJpeg({
      ...small,
      sampling: [
        [1, 1],
        [2, 2],
        [2, 2],
      ],
    }),
    'subsampling',
  ],
  [
    'colours sampled differently',
    writeJpeg({
      ...small,
      sampling: [
        [2, 2],
        [2, 1],
        [1, 1],
      ],
    }),
    'subsampling',
  ],
  [
    '101 scans',
    altered((segments) => [
      ...(frame(0xc2)(segments) ?? segments).slice(0, -1),
      segment(MARKER.SOS, [1, 1, 0, 0, 0, 1], [0x55]),
      ...refinements,
    ]),
    '100 scans',
  ],
];

describeTier('driver', 'the check of a JPEG', () => {
  const log = joinPath(tmpdir(), `zerohop-jpeg-check-${process.pid}`);
  let decoder: JpegDecoder;
  let dst: DeviceMemory;

  beforeAll(async () => {
    const device = await Device.open(0);
    decoder = await JpegDecoder.create(device);
    dst = await device.alloc(1 << 20);
  });

  afterAll(async () => {
    process.env.ZEROHOP_FAKE_LOG = '';
    rmSync(log, { force: true });
    await Promise.all([decoder.close(), dst.close()]);
  });

  /** Decodes, and says what nvJPEG was asked for. */
  async function decode(bytes: Buffer): Promise<{ error: unknown; calls: string[] }> {
    rmSync(log, { force: true });
    process.env.ZEROHOP_FAKE_LOG = log;
    const error: unknown = await decoder.decode(bytes, dst).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    process.env.ZEROHOP_FAKE_LOG = '';
    const calls = readFileSync(log, 'utf8').split('\n');
    return { error, calls: calls.map((call) => call.split(' ')[0] ?? '').filter((call) => call.startsWith('nvjpeg')) };
  }

  const refused: [string, string, Buffer, string][] = [
    ...CORRUPT.map((row) => ['ERR_JPEG_CORRUPT', ...row] as [string, string, Buffer, string]),
    ...TRUNCATED.map((row) => ['ERR_JPEG_TRUNCATED', ...row] as [string, string, Buffer, string]),
    ...UNSUPPORTED.map((row) => ['ERR_JPEG_UNSUPPORTED', ...row] as [string, string, Buffer, string]),
  ];

  it.each(refused)('refuses, with %s, %s', async (code, _, bytes, words) => {
    const { error, calls } = await decode(bytes);
    expect(error).toBeInstanceOf(JpegError);
    expect(error).toMatchObject({ code, status: undefined, call: undefined });
    expect((error as JpegError).message).toContain(words);
    // nvJPEG has not seen it.
    expect(calls).toEqual([]);
    expect((await decode(sound)).error).toBeUndefined();
  });

  it('refuses every file that ends early', async () => {
    for (let length = 0; length < sound.length; length += 1) {
      await expect(decoder.decode(sound.subarray(0, length), dst)).rejects.toMatchObject({
        code: 'ERR_JPEG_TRUNCATED',
      });
    }
  });

  it('finds the end, and restart markers, wherever they lie in the compressed data', async () => {
    // The fake decodes none of them. Behind each 0xff that is theirs stands a zero.
    const compressed = (length: number) => [
      ...Array.from({ length }, (_, i) => (i % 7 === 5 ? 0xff : i % 7 === 6 ? 0 : 0x55)),
      ...[0, 1],
    ];
    const halves = { ...small, restartInterval: 3 };
    const file = (data: number[], options = small) =>
      altered(
        (segments) => [
          ...without(MARKER.SOS)(segments),
          segment(MARKER.SOS, Array.from(one(segments, MARKER.SOS).contents), data),
        ],
        options,
      );
    for (let length = 0; length < 200; length += 1) {
      const data = compressed(length);
      const plain = file(data);
      expect((await decode(plain)).error, `${length} bytes`).toBeUndefined();
      for (const cut of [1, 2]) {
        expect((await decode(plain.subarray(0, -cut))).error).toMatchObject({ code: 'ERR_JPEG_TRUNCATED' });
      }
      // One marker between six units, filled up to.
      const marked = [...data, 0xff, 0xff, MARKER.RST0, ...data];
      expect((await decode(file(marked, halves))).error, `${length} bytes`).toBeUndefined();
      const more = [...marked, 0xff, MARKER.RST0 + 1, 1];
      expect((await decode(file(more, halves))).error).toMatchObject({ code: 'ERR_JPEG_CORRUPT' });
    }
  });

  it.each(Object.entries(SAMPLINGS))('takes and names %s', async (name, sampling) => {
    const bytes = writeJpeg({ ...small, sampling });
    const expected = {
      width: 40,
      height: 24,
      components: sampling.length,
      subsampling: name,
      process: 'baseline',
      color: sampling.length === 1 ? 'GRAY' : 'YCbCr',
      bitsPerSample: 8,
    };
    expect(await decoder.info(bytes)).toEqual(expected);
    expect(await decoder.decode(bytes, dst)).toEqual({ ...expected, pitch: 120 });
  });

  it('takes grey with any sampling factors, restart intervals, and filling', async () => {
    const filled = Buffer.concat([sound.subarray(0, 2), Buffer.alloc(5, 0xff), sound.subarray(2)]);
    const rows = { ...small, width: 600, restartInterval: 3 };
    for (const bytes of [writeJpeg({ ...small, sampling: [[2, 2]] }), writeJpeg(rows), filled]) {
      expect((await decode(bytes)).error).toBeUndefined();
    }
  });

  it.each(Object.entries(SAMPLINGS))('is tested with sound files: %s', async (_, sampling) => {
    const value = (c: number, x: number) => (c === 0 ? 40 + x : 128);
    for (const restartInterval of [0, 1, 3]) {
      const file = writeJpeg({ width: 96, height: 40, sampling, value, restartInterval });
      const { data, info } = await sharp(file).greyscale().raw().toBuffer({ resolveWithObject: true });
      expect([info.width, info.height]).toEqual([96, 40]);
      const row = data.subarray(20 * 96, 21 * 96);
      for (let x = 0; x < 96; x += 1) expect(Math.abs((row[x] ?? 0) - (40 + 8 * (x >> 3)))).toBeLessThan(3);
    }
  });

  it('takes what other programs write', async () => {
    const picture = sharp({
      create: {
        width: 333,
        height: 222,
        channels: 3,
        background: '#c63',
        noise: { type: 'gaussian', mean: 128, sigma: 30 },
      },
    });
    const files = await Promise.all([
      picture.clone().jpeg().toBuffer(),
      picture.clone().jpeg({ progressive: true }).toBuffer(),
      picture.clone().jpeg({ mozjpeg: true }).toBuffer(),
      picture.clone().jpeg({ chromaSubsampling: '4:4:4', optimiseCoding: false }).toBuffer(),
      picture.clone().greyscale().jpeg({ progressive: true }).toBuffer(),
      picture.clone().withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    ]);
    for (const bytes of files) expect((await decode(bytes)).error).toBeUndefined();
    expect(await decoder.info(files[1] as Buffer)).toMatchObject({ process: 'progressive', subsampling: '4:2:0' });
    const cmyk = await picture.clone().toColourspace('cmyk').jpeg().toBuffer();
    expect(await decoder.info(cmyk)).toMatchObject({ components: 4, color: 'CMYK' });
    expect((await decode(cmyk)).error).toMatchObject({ code: 'ERR_JPEG_UNSUPPORTED' });
  });

  it('reads the header of what it can not decode, and of no more than that', async () => {
    const [, arithmetic] = UNSUPPORTED[4] as [string, Buffer, string];
    expect(await decoder.info(arithmetic)).toMatchObject({ process: 'arithmetic' });
    expect(await decoder.info(altered(set(MARKER.SOF0, 0, 12)))).toMatchObject({ bitsPerSample: 12 });
    // What follows the first scan's header is not looked at.
    expect(await decoder.info(sound.subarray(0, -2))).toMatchObject({ width: 40, height: 24 });
    await expect(decoder.info(sound.subarray(0, 60))).rejects.toMatchObject({ code: 'ERR_JPEG_TRUNCATED' });
  });
});
