/** The largest value of a source: 8, 12 or 16 bits. */
export type Depth = 255 | 4095 | 65535;

/**
 * How the samples of a picture lie in memory. 8 bits: interleaved (the letters give the order of the bytes), planar
 * (`…P`), mosaics of industrial cameras (`BAYER_…`, named as GenICam does: the first two pixels of the first row) and
 * NV12 (a plane of luma, then interleaved chroma at half the size). 16 bits, little-endian: `GRAY16`, `RGB16`, and
 * mosaics with 12 bits in the low bits.
 */
export type PixelFormat = keyof typeof FORMATS;

export interface FormatTraits {
  /** How the samples lie; a part of the kernel's name. */
  readonly kernel: string;
  /** Bytes of one pixel in one row of a plane. */
  readonly bytes: number;
  /** Which colour each component is: 0 red, 1 green, 2 blue. */
  readonly colors: readonly [number, number, number];
  /** The largest value. */
  readonly max: Depth;
  /** Of 4-byte pixels: where the colours begin. */
  readonly firstByte?: 0 | 1;
  /** Column and row of the first red sample of a mosaic. */
  readonly red?: readonly [x: number, y: number];
}

const RGB = [0, 1, 2] as const;
const BGR = [2, 1, 0] as const;
const bayer = (x: number, y: number) => ({ colors: RGB, red: [x, y] as const });
const bayer8 = { kernel: 'bayer8', bytes: 1, max: 255 } as const;
const bayer12 = { kernel: 'bayer16', bytes: 2, max: 4095 } as const;

export const FORMATS = {
  RGB8: { kernel: 'rgb8', bytes: 3, colors: RGB, max: 255 },
  BGR8: { kernel: 'rgb8', bytes: 3, colors: BGR, max: 255 },
  RGBA8: { kernel: 'rgba8', bytes: 4, colors: RGB, max: 255, firstByte: 0 },
  BGRA8: { kernel: 'rgba8', bytes: 4, colors: BGR, max: 255, firstByte: 0 },
  ARGB8: { kernel: 'rgba8', bytes: 4, colors: RGB, max: 255, firstByte: 1 },
  ABGR8: { kernel: 'rgba8', bytes: 4, colors: BGR, max: 255, firstByte: 1 },
  GRAY8: { kernel: 'gray8', bytes: 1, colors: RGB, max: 255 },
  RGB8P: { kernel: 'planar8', bytes: 1, colors: RGB, max: 255 },
  BGR8P: { kernel: 'planar8', bytes: 1, colors: BGR, max: 255 },
  NV12: { kernel: 'nv12', bytes: 1, colors: RGB, max: 255 },
  BAYER_RG8: { ...bayer8, ...bayer(0, 0) },
  BAYER_GR8: { ...bayer8, ...bayer(1, 0) },
  BAYER_GB8: { ...bayer8, ...bayer(0, 1) },
  BAYER_BG8: { ...bayer8, ...bayer(1, 1) },
  BAYER_RG12: { ...bayer12, ...bayer(0, 0) },
  BAYER_GR12: { ...bayer12, ...bayer(1, 0) },
  BAYER_GB12: { ...bayer12, ...bayer(0, 1) },
  BAYER_BG12: { ...bayer12, ...bayer(1, 1) },
  GRAY16: { kernel: 'gray16', bytes: 2, colors: RGB, max: 65535 },
  RGB16: { kernel: 'rgb16', bytes: 6, colors: RGB, max: 65535 },
} as const satisfies Record<string, FormatTraits>;

export const traitsOf = (format: PixelFormat): FormatTraits => FORMATS[format];
