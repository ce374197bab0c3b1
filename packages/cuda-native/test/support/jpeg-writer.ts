/**
 * Small baseline JPEGs of every shape, which sharp can't write: any sampling, restart intervals, segments left out or put
 * in. Every block is of one value, so that there is nothing to transform.
 */

export interface JpegOptions {
  width: number;
  height: number;
  /** Horizontal and vertical sampling factors of each component. */
  sampling: readonly (readonly [number, number])[];
  restartInterval?: number;
  /** Names of the components. */
  ids?: readonly number[];
  /** What a block of component `c` shows, from 0 to 255; the block holds its sample (x, y). */
  value?: (c: number, x: number, y: number) => number;
}

/** One segment: what follows 0xff, and what follows its length; of a scan also the compressed data behind it. */
export interface Segment {
  marker: number;
  contents: Buffer;
  data: Buffer;
}

export const MARKER = { SOF0: 0xc0, DHT: 0xc4, RST0: 0xd0, SOS: 0xda, DQT: 0xdb, DRI: 0xdd, APP0: 0xe0 } as const;

export function segment(marker: number, contents: Uint8Array | number[] | string, data: number[] = []): Segment {
  const bytes: Buffer = typeof contents === 'string' ? Buffer.from(contents, 'latin1') : Buffer.from(contents);
  return { marker, contents: bytes, data: Buffer.from(data) };
}

/** Puts the file together. */
export function join(segments: readonly Segment[]): Buffer {
  const parts: Uint8Array[] = [Buffer.from([0xff, 0xd8])];
  for (const { marker, contents, data } of segments) {
    const length = contents.length + 2;
    parts.push(Buffer.from([0xff, marker, length >> 8, length & 255]), contents, data);
  }
  return Buffer.concat([...parts, Buffer.from([0xff, 0xd9])]);
}

/** Bits, most significant first, with the zero byte that follows each 0xff. */
class Bits {
  readonly bytes: number[] = [];
  #held = 0;
  #count = 0;

  put(value: number, bits: number): void {
    for (let i = bits - 1; i >= 0; i -= 1) {
      this.#held = this.#held * 2 + ((value >> i) & 1);
      this.#count += 1;
      if (this.#count < 8) continue;
      this.bytes.push(this.#held);
      if (this.#held === 255) this.bytes.push(0);
      this.#held = 0;
      this.#count = 0;
    }
  }

  /** Fills the last byte with ones. */
  flush(): void {
    while (this.#count !== 0) this.put(1, 1);
  }
}

/** With a quantization of 8 throughout, a DC coefficient is the block's value less 128. */
const QUANTIZATION = segment(MARKER.DQT, [0, ...Array<number>(64).fill(8)]);
/** Twelve codes of four bits, which are the sizes of differences. */
const DC_TABLE = segment(MARKER.DHT, [0, 0, 0, 0, 12, ...Array<number>(12).fill(0), ...Array(12).keys()]);
/** One code of one bit: the end of the block. */
const AC_TABLE = segment(MARKER.DHT, [0x10, 1, ...Array<number>(15).fill(0), 0]);

function compress(options: JpegOptions): number[] {
  const { width, height, sampling, restartInterval = 0, value = () => 128 } = options;
  const single = sampling.length === 1;
  const factors = single ? [[1, 1] as const] : sampling;
  const widest = Math.max(...factors.map(([h]) => h));
  const highest = Math.max(...factors.map(([, v]) => v));
  const across = Math.ceil(width / (8 * widest));
  const down = Math.ceil(height / (8 * highest));
  const before = factors.map(() => 0);
  const bits = new Bits();
  for (let unit = 0; unit < across * down; unit += 1) {
    if (restartInterval > 0 && unit > 0 && unit % restartInterval === 0) {
      bits.flush();
      bits.bytes.push(0xff, MARKER.RST0 + ((unit / restartInterval - 1) % 8));
      before.fill(0);
    }
    factors.forEach(([h, v], c) => {
      for (let block = 0; block < h * v; block += 1) {
        const x = 8 * ((unit % across) * h + (block % h));
        const y = 8 * (Math.floor(unit / across) * v + Math.floor(block / h));
        const level = Math.round(value(c, x, y)) - 128;
        const difference = level - (before[c] ?? 0);
        before[c] = level;
        const size = difference === 0 ? 0 : 32 - Math.clz32(Math.abs(difference));
        bits.put(size, 4);
        bits.put(difference < 0 ? difference + 2 ** size - 1 : difference, size);
        bits.put(0, 1);
      }
    });
  }
  bits.flush();
  return bits.bytes;
}

/** The segments of a JPEG, in order: DQT, SOF0, two DHT, DRI where asked for, SOS. */
export function jpegSegments(options: JpegOptions): Segment[] {
  const { width, height, sampling, restartInterval = 0, ids = sampling.map((_, c) => c + 1) } = options;
  const frame = [8, height >> 8, height & 255, width >> 8, width & 255, sampling.length];
  const scan = [sampling.length];
  sampling.forEach(([h, v], c) => {
    frame.push(ids[c] ?? 0, (h << 4) | v, 0);
    scan.push(ids[c] ?? 0, 0);
  });
  return [
    QUANTIZATION,
    segment(MARKER.SOF0, frame),
    DC_TABLE,
    AC_TABLE,
    ...(restartInterval > 0 ? [segment(MARKER.DRI, [restartInterval >> 8, restartInterval & 255])] : []),
    segment(MARKER.SOS, [...scan, 0, 63, 0], compress(options)),
  ];
}

export function writeJpeg(options: JpegOptions): Buffer {
  return join(jpegSegments(options));
}

/** The kinds of subsampling that nvJPEG knows. */
export const SAMPLINGS = {
  '4:4:4': [
    [1, 1],
    [1, 1],
    [1, 1],
  ],
  '4:2:2': [
    [2, 1],
    [1, 1],
    [1, 1],
  ],
  '4:2:0': [
    [2, 2],
    [1, 1],
    [1, 1],
  ],
  '4:4:0': [
    [1, 2],
    [1, 1],
    [1, 1],
  ],
  '4:1:1': [
    [4, 1],
    [1, 1],
    [1, 1],
  ],
  '4:1:0': [
    [4, 2],
    [1, 1],
    [1, 1],
  ],
  gray: [[1, 1]],
} as const;
