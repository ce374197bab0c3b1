import type { DeviceMemory, Kernel, Stream } from '@zerohop/cuda-native';
import { outOfRange } from '../arguments.js';
import { type ExifOrientation, turnOf, uprightSize } from '../reference/orient.js';
import { checkImage, type DeviceImage } from './device-image.js';

/** `sizeof(OrientJob)` of kernels/orient.cuh. */
const JOB_BYTES = 40;

/** The job; the stored picture and the upright one. */
export const ORIENT = [{ bytes: JOB_BYTES }, 'pointer', 'pointer'] as const;

/** `kTile` and `kTileRows` of kernels/orient.cuh. */
const TILE = 32;
const TILE_ROWS = 8;

/** The most blocks of a grid in y. */
const MOST_TILE_ROWS = 65535;

/** An interleaved picture of three bytes a pixel, in memory that the device can read. */
export type StoredImage = Pick<DeviceImage, 'memory' | 'byteOffset' | 'width' | 'height' | 'pitch'>;

/** A stored picture, checked, and the job that turns it. */
export interface OrientLaunch {
  readonly width: number;
  readonly height: number;
  readonly job: DataView;
}

function checkOrientation(value: ExifOrientation): ExifOrientation {
  if (!Number.isInteger(value) || value < 1 || value > 8) throw outOfRange('integer from 1 to 8', 'orientation', value);
  return value;
}

/** Whether two pieces of memory share a byte. */
function overlap(a: DeviceMemory, b: DeviceMemory): boolean {
  return a.address < b.address + BigInt(b.byteLength) && b.address < a.address + BigInt(a.byteLength);
}

/** Checks a picture and an orientation, and lays out the kernel's descriptor as kernels/orient.cuh has it. */
export function orientLaunch(image: StoredImage, orientation: ExifOrientation): OrientLaunch {
  const { byteOffset, pitch, width: storedWidth, height: storedHeight } = checkImage({ ...image, format: 'RGB8' });
  const turn = turnOf(checkOrientation(orientation));
  const { width, height } = uprightSize({ width: storedWidth, height: storedHeight }, orientation);
  if (height > TILE * MOST_TILE_ROWS) throw outOfRange(`at most ${TILE * MOST_TILE_ROWS}`, 'upright height', height);
  const job = new DataView(new ArrayBuffer(JOB_BYTES));
  job.setBigInt64(0, BigInt(byteOffset), true);
  const flags = [turn.transpose, turn.mirrorX, turn.mirrorY].map(Number);
  for (const [i, value] of [pitch, storedWidth, storedHeight, width, height, ...flags].entries()) {
    job.setInt32(8 + 4 * i, value, true);
  }
  return { width, height, job };
}

/** Turns pictures upright. Owns nothing: its kernel is that of the {@link ImageKernels} it came from. */
export class Orienter {
  readonly #kernel: Kernel<typeof ORIENT>;

  /** @internal */
  constructor(kernel: Kernel<typeof ORIENT>) {
    this.#kernel = kernel;
  }

  /**
   * Enqueues one launch that turns a picture of three interleaved bytes a pixel (RGB or BGR alike) upright by its EXIF
   * orientation, into dense rows at the start of `destination`; 1 copies. What lies behind them stays. Does not block;
   * also inside a capture. Picture and destination are borrowed until the work is over, and share no byte.
   *
   * @param image its `pitch` is in bytes, and by default that of dense rows.
   * @param destination of at least `3 · width · height` bytes.
   * @returns the upright size: width and height change places for the orientations 5 to 8.
   * @throws TypeError | RangeError for wrong arguments
   * @throws DisposedError for memory, or kernels, that are closed
   * @throws CudaError
   */
  enqueue(
    stream: Stream,
    image: StoredImage,
    orientation: ExifOrientation,
    destination: DeviceMemory,
  ): { width: number; height: number } {
    const { width, height, job } = orientLaunch(image, orientation);
    const needed = 3 * width * height;
    if (destination.byteLength < needed) {
      throw outOfRange(`at least ${needed} bytes (${width}x${height})`, 'destination', destination.byteLength);
    }
    if (overlap(image.memory, destination)) {
      throw outOfRange('memory apart from the image', 'destination', destination.address);
    }
    const grid = [Math.ceil(width / TILE), Math.ceil(height / TILE), 1] as const;
    stream.launch(this.#kernel, { grid, block: [TILE, TILE_ROWS, 1] }, job, image.memory, destination);
    return { width, height };
  }
}
