import type { Device } from '@zerohop/cuda-native';
import type { TensorSpec } from '@zerohop/cuda-native/tensor';
import {
  checkBoolean,
  checkFields,
  checkOneOf,
  checkPositiveInteger,
  fieldsOf,
  outOfRange,
  wrongType,
} from './arguments.js';
import { checkLetterbox, checkOverlap, checkValues } from './checks.js';
import { type DecodeSettings, readDecodeSettings } from './decode/settings.js';
import type { LetterboxOptions, ResizeMode } from './reference/geometry.js';
import type { Interpolation } from './reference/resize.js';
import type { ColorOrder, TensorRecipe } from './reference/tensor.js';
import { readTarget, type Target, type TargetSize } from './target.js';

/** A number for all three planes, or one for each plane in the tensor's own order (`colorOrder`). */
export type PerChannel = number | readonly [number, number, number];

/** The tiles of `resize: { tiles }`. */
export interface TileOptions {
  /** In pixels: the target's. */
  readonly width: number;
  readonly height: number;
  /** Pixels that neighbouring tiles share. @defaultValue 0 */
  readonly overlap?: number;
}

export interface PreprocessorOptions {
  /**
   * The tensor to write, `[batch, 3, height, width]` or `[batch, height, width, 3]`, or the same without batch, of FP32,
   * FP16, UINT8 or INT8; for gray pictures also of one channel. A pool's `input(name)` is one.
   */
  readonly target: TensorSpec | TargetSize;
  /**
   * `'letterbox'` keeps the aspect ratio and fills the rest with `pad`; `'stretch'` does not; `'none'` takes only
   * pictures of the target's size. A picture of the target's size passes unchanged through each of them.
   * `{ letterbox: { align, scaleUp } }` puts the padding right and below, or leaves small pictures small.
   * `{ tiles: { width, height, overlap } }` cuts a picture at its own size into a batch, for `runTiles`.
   * @defaultValue 'letterbox'
   */
  readonly resize?: ResizeMode | { readonly letterbox: LetterboxOptions } | { readonly tiles: TileOptions };
  /**
   * OpenCV's `INTER_LINEAR` or `INTER_NEAREST`, byte for byte, or its `INTER_AREA`, within one level: the mean of all
   * that a pixel covers, for strong shrinking. @defaultValue 'linear'
   */
  readonly interpolation?: Interpolation;
  /** Which plane comes first. @defaultValue 'RGB' */
  readonly colorOrder?: ColorOrder;
  /**
   * Each value becomes `((v · scale) − mean) / std` in fp32.
   * @defaultValue 1/255, 1/4095 or 1/65535 by the picture's depth; 1 for UINT8 and INT8
   */
  readonly scale?: number;
  /** @defaultValue 0 */
  readonly mean?: PerChannel;
  /** @defaultValue 1 */
  readonly std?: PerChannel;
  /** Bytes (0–255) round the picture, before normalisation; for deeper pictures in proportion. @defaultValue 114 */
  readonly pad?: PerChannel;
  /** Turns encoded pictures upright by their EXIF orientation. @defaultValue true */
  readonly exif?: boolean;
  /** Encoded pictures with more pixels are refused. @defaultValue 67108864 (8192 × 8192) */
  readonly limitInputPixels?: number;
  /**
   * Byte-equal to OpenCV's 8-bit bilinear, then a table of 256 entries for each plane. `false` allows what differs by up
   * to one level in 255 where that is faster. Nothing was: the exact kernels run as fast as copies of the same bytes, so
   * today both write the same.
   * @defaultValue true
   */
  readonly exact?: boolean;
  /**
   * A GPU, whose kernels `create` makes ready: it also writes blocks of host memory that kernels don't reach, by a copy
   * through pinned memory. `'cpu'` uses no GPU, also for blocks in GPU memory, which then are written by way of a host
   * buffer. @defaultValue the target's, and at a run the block's
   */
  readonly device?: Device | 'cpu';
}

const OPTIONS = fieldsOf<PreprocessorOptions>({
  target: true,
  resize: true,
  interpolation: true,
  colorOrder: true,
  scale: true,
  mean: true,
  std: true,
  pad: true,
  exif: true,
  limitInputPixels: true,
  exact: true,
  device: true,
});

const TILE_OPTIONS = fieldsOf<TileOptions>({ width: true, height: true, overlap: true });
const LETTERBOX_OPTIONS = fieldsOf<LetterboxOptions>({ align: true, scaleUp: true });

/** What was given to `Preprocessor.create`, checked and without gaps. */
export interface PreprocessorSettings {
  readonly target: Target;
  readonly recipe: TensorRecipe;
  readonly decode: DecodeSettings;
  readonly device: Device | 'cpu' | undefined;
}

function readDevice({ device, target }: PreprocessorOptions): Device | 'cpu' | undefined {
  if (device === undefined) return 'device' in target ? target.device : undefined;
  if (device === 'cpu') return device;
  if (typeof device !== 'object' || device === null || !('createStream' in device)) {
    throw wrongType("Device or 'cpu'", 'device', device);
  }
  return device;
}

type Resizing = Pick<TensorRecipe, 'resize' | 'overlap' | 'align' | 'scaleUp'>;

function readTiles(tiles: TileOptions, target: Target): Resizing {
  checkFields('resize.tiles', tiles, TILE_OPTIONS);
  for (const side of ['width', 'height'] as const) {
    const size = checkPositiveInteger(`resize.tiles.${side}`, tiles[side]);
    if (size !== target[side]) throw outOfRange(`${target[side]}, the target's ${side}`, `resize.tiles.${side}`, size);
  }
  return { resize: 'tiles', overlap: checkOverlap('resize.tiles.overlap', tiles.overlap ?? 0, target) };
}

function readResize(resize: NonNullable<PreprocessorOptions['resize']>, target: Target): Resizing {
  if (typeof resize === 'object' && resize !== null) {
    if ('tiles' in resize && typeof resize.tiles === 'object') return readTiles(resize.tiles, target);
    if ('letterbox' in resize && typeof resize.letterbox === 'object') {
      checkFields('resize.letterbox', resize.letterbox, LETTERBOX_OPTIONS);
      return { resize: 'letterbox', ...checkLetterbox(resize.letterbox, 'resize.letterbox.') };
    }
  }
  return { resize: checkOneOf('resize', resize, ['letterbox', 'stretch', 'none']) };
}

/** Checks what was given to `Preprocessor.create`. */
export function readOptions(options: PreprocessorOptions): PreprocessorSettings {
  checkFields('options', options, OPTIONS);
  const target = readTarget(options.target);
  const recipe: TensorRecipe = {
    width: target.width,
    height: target.height,
    datatype: target.datatype,
    layout: target.layout,
    channels: target.channels,
    ...readResize(options.resize ?? 'letterbox', target),
    ...checkValues(options),
  };
  checkBoolean('exact', options.exact ?? true);
  return { target, recipe, decode: readDecodeSettings(options), device: readDevice(options) };
}
