import type { FullRecipe } from '../src/gpu/recipe.js';
import { colorMatrix } from '../src/reference/color-matrix.js';
import { type PixelFormat, traitsOf } from '../src/reference/formats.js';
import type { Crop } from '../src/reference/geometry.js';
import { float16Bits, type Interpolation, letterbox, normalise, resize, roundHalfEven } from '../src/reference.js';

/** A picture in host memory, in any format that the kernels read. */
export interface HostImage {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  readonly byteOffset: number;
  readonly pitch: number;
  readonly planePitch: number;
  readonly crop: Crop;
  readonly matrix: 'bt601' | 'bt709' | 'bt2020';
  readonly range: 'limited' | 'full';
  readonly data: Uint8Array;
}

/** Interleaved RGB, `3 · width` values a row. */
interface Rgb {
  readonly width: number;
  readonly height: number;
  readonly values: Uint16Array;
}

type Sample = (x: number, y: number) => readonly [number, number, number];

const clampByte = (value: number) => Math.min(Math.max(value, 0), 255);

function nv12({ data, byteOffset, pitch, planePitch, matrix, range }: HostImage): Sample {
  const m = colorMatrix(matrix, range);
  return (x, y) => {
    const luma = Math.max(0, (data[byteOffset + y * pitch + x] as number) - m.lumaOffset) * m.luma;
    const at = byteOffset + planePitch + (y >> 1) * pitch + 2 * (x >> 1);
    const u = (data[at] as number) - 128;
    const v = (data[at + 1] as number) - 128;
    const byte = (value: number) => clampByte(Math.floor((value + 2 ** 19) / 2 ** 20));
    return [byte(luma + m.vToRed * v), byte(luma + m.uToGreen * u + m.vToGreen * v), byte(luma + m.uToBlue * u)];
  };
}

/** Means of the samples of one colour among the nearest neighbours, halves up; the border takes its inner neighbour. */
function bayer({ data, byteOffset, pitch, width, height, format }: HostImage): Sample {
  const { bytes, red = [0, 0] } = traitsOf(format);
  const read = (x: number, y: number) => {
    const at = byteOffset + y * pitch + bytes * x;
    return (data[at] as number) + (bytes === 2 ? 256 * (data[at + 1] as number) : 0);
  };
  const colorAt = (x: number, y: number) => ((x & 1) === red[0] ? 0 : 1) + ((y & 1) === red[1] ? 0 : 1);
  return (atX, atY) => {
    const cx = Math.min(Math.max(atX, 1), width - 2);
    const cy = Math.min(Math.max(atY, 1), height - 2);
    const mean = (color: number): number => {
      if (colorAt(cx, cy) === color) return read(cx, cy);
      let sum = 0;
      let count = 0;
      for (let dy = -1; dy <= 1; dy++) {
        for (let dx = -1; dx <= 1; dx++) {
          if (colorAt(cx + dx, cy + dy) !== color) continue;
          sum += read(cx + dx, cy + dy);
          count++;
        }
      }
      return Math.floor((sum + count / 2) / count);
    };
    return [mean(0), mean(1), mean(2)];
  };
}

function sampler(image: HostImage): Sample {
  const { data, byteOffset, pitch, planePitch, format } = image;
  const traits = traitsOf(format);
  if (format === 'NV12') return nv12(image);
  if (traits.red !== undefined) return bayer(image);
  const component = (at: number, index: number): number => {
    if (traits.kernel === 'planar8') return data[at + index * planePitch] as number;
    if (traits.kernel === 'gray8') return data[at] as number;
    if (traits.max === 255) return data[at + (traits.firstByte ?? 0) + index] as number;
    const from = at + (traits.bytes === 6 ? 2 * index : 0);
    return (data[from] as number) + 256 * (data[from + 1] as number);
  };
  const order = [0, 1, 2].map((color) => traits.colors.indexOf(color as 0 | 1 | 2));
  return (x, y) => {
    const at = byteOffset + y * pitch + traits.bytes * x;
    return order.map((index) => component(at, index)) as [number, number, number];
  };
}

function toRgb(image: HostImage, part: Crop): Rgb {
  const sample = sampler(image);
  const values = new Uint16Array(3 * part.width * part.height);
  for (let y = 0; y < part.height; y++) {
    for (let x = 0; x < part.width; x++) values.set(sample(part.x + x, part.y + y), 3 * (y * part.width + x));
  }
  return { width: part.width, height: part.height, values };
}

/** Columns as OpenCV treats them; rows keep their fraction beyond the edge, where both rows are the same. */
function tap(i: number, source: number, target: number, clampFraction: boolean): [number, number, number] {
  const position = Math.fround((i + 0.5) * (1 / (target / source)) - 0.5);
  const whole = Math.floor(position);
  const fraction = Math.fround(position - whole);
  if (clampFraction && (whole < 0 || whole >= source - 1)) return [whole < 0 ? 0 : source - 1, 0, 0];
  const clamped = (at: number) => Math.min(Math.max(at, 0), source - 1);
  return [clamped(whole), clamped(whole + 1), fraction];
}

/** 16 bits: fp32 weights, columns first, rounded half to even. */
function resizeDeep(image: Rgb, width: number, height: number): Rgb {
  const f = Math.fround;
  const values = new Uint16Array(3 * width * height);
  const mix = (a: number, b: number, fraction: number) => f(f(a * f(1 - fraction)) + f(b * fraction));
  for (let y = 0; y < height; y++) {
    const [y0, y1, fy] = tap(y, image.height, height, false);
    for (let x = 0; x < width; x++) {
      const [x0, x1, fx] = tap(x, image.width, width, true);
      for (let c = 0; c < 3; c++) {
        const at = (column: number, row: number) => image.values[3 * (row * image.width + column) + c] as number;
        const value = mix(mix(at(x0, y0), at(x1, y0), fx), mix(at(x0, y1), at(x1, y1), fx), fy);
        values[3 * (y * width + x) + c] = Math.min(roundHalfEven(value), 65535);
      }
    }
  }
  return { width, height, values };
}

function nearestDeep(image: Rgb, width: number, height: number): Rgb {
  const values = new Uint16Array(3 * width * height);
  const at = (i: number, source: number, target: number) =>
    Math.min(Math.floor(i * (1 / (target / source))), source - 1);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = 3 * (at(y, image.height, height) * image.width + at(x, image.width, width));
      values.set(image.values.subarray(from, from + 3), 3 * (y * width + x));
    }
  }
  return { width, height, values };
}

function resizeRgb(image: Rgb, width: number, height: number, deep: boolean, interpolation: Interpolation): Rgb {
  if (image.width === width && image.height === height) return image;
  if (deep && interpolation === 'nearest') return nearestDeep(image, width, height);
  if (deep && interpolation === 'linear') return resizeDeep(image, width, height);
  const values = deep ? image.values : Uint8Array.from(image.values);
  const resized = resize(
    {
      width: image.width,
      height: image.height,
      format: deep ? 'RGB16' : 'RGB8',
      pitch: 3 * image.width * values.BYTES_PER_ELEMENT,
      data: new Uint8Array(values.buffer),
    },
    width,
    height,
    interpolation,
  ).data;
  return { width, height, values: deep ? new Uint16Array(resized.buffer) : Uint16Array.from(resized) };
}

type Elements = Uint32Array | Uint16Array | Uint8Array;

function elementsFor(datatype: FullRecipe['datatype'], count: number): Elements {
  if (datatype === 'FP32') return new Uint32Array(count);
  return datatype === 'FP16' ? new Uint16Array(count) : new Uint8Array(count);
}

function encode(recipe: FullRecipe, max: number, plane: number, value: number): number {
  const { datatype, mean, std } = recipe;
  const scale = recipe.scale ?? (datatype === 'FP32' || datatype === 'FP16' ? 1 / max : 1);
  const normalised = normalise(value, scale, mean[plane] as number, std[plane] as number);
  if (datatype === 'FP32') return new Uint32Array(Float32Array.of(normalised).buffer)[0] as number;
  if (datatype === 'FP16') return float16Bits(normalised);
  const [low, high] = datatype === 'UINT8' ? [0, 255] : [-128, 127];
  return Math.min(Math.max(roundHalfEven(normalised), low), high) & 0xff;
}

function fill(recipe: FullRecipe, max: number, picture: Rgb, left: number, top: number, out: Elements, from: number) {
  const { width, height, channels } = recipe;
  for (let plane = 0; plane < channels; plane++) {
    const color = recipe.colorOrder === 'BGR' ? 2 - plane : plane;
    const pad = encode(recipe, max, plane, ((recipe.pad[plane] as number) * max) / 255);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const inside = x >= left && y >= top && x < left + picture.width && y < top + picture.height;
        const value = picture.values[3 * ((y - top) * picture.width + x - left) + color] as number;
        const to =
          recipe.layout === 'NHWC' ? (y * width + x) * channels + plane : plane * width * height + y * width + x;
        out[from + to] = inside ? encode(recipe, max, plane, value) : pad;
      }
    }
  }
}

function tileParts({ width, height, overlap }: FullRecipe, crop: Crop): Crop[] {
  const starts = (size: number, tile: number): number[] => {
    const found: number[] = [];
    for (let at = 0; ; at += tile - overlap) {
      found.push(Math.max(0, Math.min(at, size - tile)));
      if (at + tile >= size) return found;
    }
  };
  return starts(crop.height, height).flatMap((y) =>
    starts(crop.width, width).map((x) => ({
      x: crop.x + x,
      y: crop.y + y,
      width: Math.min(width, crop.width),
      height: Math.min(height, crop.height),
    })),
  );
}

/** What a recipe makes of an image, from the definitions: the bytes of the tensor, or of the batch of tiles. */
export function define(image: HostImage, recipe: FullRecipe): Uint8Array {
  const { max } = traitsOf(image.format);
  const parts = recipe.resize === 'tiles' ? tileParts(recipe, image.crop) : [image.crop];
  const each = recipe.channels * recipe.width * recipe.height;
  const out = elementsFor(recipe.datatype, parts.length * each);
  for (const [i, part] of parts.entries()) {
    const whole = { left: 0, top: 0, width: recipe.width, height: recipe.height };
    const placed = {
      letterbox: () => letterbox(part.width, part.height, recipe.width, recipe.height, recipe),
      tiles: () => ({ left: 0, top: 0, width: part.width, height: part.height }),
      stretch: () => whole,
      none: () => whole,
    }[recipe.resize]();
    const picture = resizeRgb(toRgb(image, part), placed.width, placed.height, max > 255, recipe.interpolation);
    fill(recipe, max, picture, placed.left, placed.top, out, i * each);
  }
  return new Uint8Array(out.buffer, 0, out.byteLength);
}
