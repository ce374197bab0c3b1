import { traitsOf } from '../reference/formats.js';
import { BYTES_PER_PIXEL, cropOf, type Pixels } from '../reference/pixels.js';
import { inTurns } from './turns.js';

/** Bytes that are copied before the clock is looked at: below 2 ms. */
const STEP_BYTES = 4 << 20;

/** Buffers that are kept for the next pictures, and for how long, in ms. */
const MOST_IDLE = 2;
const KEPT_MS = 10_000;

const idle: SharedArrayBuffer[] = [];
let forget: NodeJS.Timeout | undefined;

function take(byteLength: number): SharedArrayBuffer {
  // Not one that is far too large: it would stay in use for good.
  const fits = idle.findIndex((each) => each.byteLength >= byteLength && each.byteLength <= 2 * byteLength);
  return fits < 0 ? new SharedArrayBuffer(byteLength) : (idle.splice(fits, 1)[0] as SharedArrayBuffer);
}

function giveBack(buffer: SharedArrayBuffer): void {
  idle.unshift(buffer);
  idle.length = Math.min(idle.length, MOST_IDLE);
  clearTimeout(forget);
  forget = setTimeout(() => {
    idle.length = 0;
  }, KEPT_MS);
  forget.unref();
}

/** The bytes that are read of a picture: whole rows, with two more on each side as a mosaic takes its neighbours. */
function bytesUsed(image: Pixels): { begin: number; end: number } {
  const { data, format, pitch, width, height } = image;
  if (format === 'NV12' || traitsOf(format).kernel === 'planar8') return { begin: 0, end: data.byteLength };
  const crop = cropOf(image);
  const last = Math.min(height, crop.y + crop.height + 2) - 1;
  return { begin: Math.max(0, crop.y - 2) * pitch, end: last * pitch + width * BYTES_PER_PIXEL[format] };
}

/**
 * Calls `work` with the picture where other threads see it: as it is when its pixels lie in a SharedArrayBuffer, else in a
 * copy, made in turns with the event loop (about 5 ms for 25 MB) and reused when `work` has settled.
 */
export async function withSharedPixels<T>(image: Pixels, work: (shared: Pixels) => Promise<T>): Promise<T> {
  const { data } = image;
  // 16-bit samples at an odd address would be copied for every band.
  if (data.buffer instanceof SharedArrayBuffer && data.byteOffset % 2 === 0) return work(image);
  const { begin, end } = bytesUsed(image);
  const buffer = take(end);
  try {
    const copy = new Uint8Array(buffer, 0, end);
    let at = begin;
    await inTurns(() => {
      const to = Math.min(end, at + STEP_BYTES);
      copy.set(data.subarray(at, to), at);
      at = to;
      return at === end;
    });
    return await work({ ...image, data: copy });
  } finally {
    giveBack(buffer);
  }
}
