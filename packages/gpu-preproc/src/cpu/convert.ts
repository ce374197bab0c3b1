/**
 * The CPU path: the definition (`imageToTensor`), by whoever does it best. What comes out is the same bytes each time.
 *
 * - Small work is done at once on the JS thread; below 10 ms, to copy a picture for other threads costs as much.
 * - Large work into memory that threads share (a slot of POSIX shared memory, a SharedArrayBuffer) is cut into bands of
 *   rows that one worker thread for each core writes. The picture is copied into shared memory first, unless it lies there.
 * - Large work into other memory is done on the JS thread in turns of 8 ms, with the event loop in between.
 *
 * Whatever the threads leave undone, because one ended, could not open the region, or none could be started, the JS thread
 * does in turns; a warning says why. So a result is either whole or an error that the definition throws. A thread opens a
 * region by its name, and a name may belong to other memory by then: before, the JS thread writes random bytes to the
 * tensor's first rows, which only it writes, at the end; a thread that does not find them there does nothing.
 */
import { randomFillSync } from 'node:crypto';
import { ELEMENT_BYTES } from '../reference/elements.js';
import type { Geometry } from '../reference/geometry.js';
import { depthOf, type Pixels } from '../reference/pixels.js';
import { imageToTensor, type TensorBits, type TensorRecipe } from '../reference/tensor.js';
import { type Bands, cutBands, missingBands, rowsOf } from './bands.js';
import { estimateMs } from './cost.js';
import type { Destination } from './messages.js';
import { withSharedPixels } from './staging.js';
import { Threads } from './threads.js';
import { inTurns } from './turns.js';
import { warnOnce } from './warning.js';

/** Host memory that a tensor is written to. */
export interface HostTensor {
  readonly elements: TensorBits;
  /** Where other threads find the same bytes: `elements` begins at `byteOffset` of the region `key`. */
  readonly shm?: { readonly key: string; readonly byteOffset: number; readonly byteLength: number } | undefined;
}

/** Some of a tensor's elements: a picture of a batch. */
export interface TensorPart {
  readonly first: number;
  readonly count: number;
}

/** Work that takes less, by estimate and in ms, is done at once. */
const AT_ONCE_MS = 10;

/** How many bytes tell one region from another. */
const TOKEN_BYTES = 16;

const threads = new Threads();

let nextJob = 0;
let nextRecipe = 0;
const recipeIds = new WeakMap<TensorRecipe, number>();

function idOf(recipe: TensorRecipe): number {
  const id = recipeIds.get(recipe) ?? nextRecipe++;
  recipeIds.set(recipe, id);
  return id;
}

/** Where threads find the tensor, or undefined where only this one has it. Writes the token. */
function destinationOf({ elements, shm }: HostTensor, tensor: TensorBits): Destination | undefined {
  const { buffer, byteOffset, byteLength } = tensor;
  if (buffer instanceof SharedArrayBuffer) return { buffer, byteOffset };
  if (shm === undefined || byteLength < TOKEN_BYTES) return undefined;
  const token = new Uint8Array(TOKEN_BYTES);
  randomFillSync(token);
  new Uint8Array(buffer, byteOffset, TOKEN_BYTES).set(token);
  return { ...shm, start: byteOffset - elements.byteOffset, token };
}

/**
 * Writes the picture into `out`, or into a part of it, and resolves, when every element of it is written, to how it was
 * laid in: one geometry, or one for each tile. The pixels are borrowed until then and must not change, and the memory must
 * stay what it is (`block.hold`); after a failure its content is undefined. Blocks the JS thread for about 10 ms at most.
 * @throws RangeError as `imageToTensor` does, PreprocError ERR_DISPOSED for a closed image
 */
export function convert(image: Pixels, recipe: TensorRecipe, out: HostTensor, part?: TensorPart): Promise<Geometry[]> {
  return convertBy(threads, image, recipe, out, part);
}

/** As {@link convert}, by other threads than the process has in common. */
export async function convertBy(
  pool: Threads,
  image: Pixels,
  recipe: TensorRecipe,
  out: HostTensor,
  part: TensorPart = { first: 0, count: out.elements.length },
): Promise<Geometry[]> {
  // The picture may be closed as soon as this has returned.
  const pixels: Pixels = { ...image, data: image.data };
  const tensor = out.elements.subarray(part.first, part.first + part.count);
  // Writes nothing: all that is wrong with the arguments is thrown here.
  const geometries = imageToTensor(pixels, recipe, tensor, { from: 0, to: 0 });
  const rows = geometries.length * recipe.height;
  const ms = estimateMs(pixels, recipe, geometries.length);
  if (ms > AT_ONCE_MS && (await byThreads(pool, pixels, recipe, out, tensor, rows, ms))) return geometries;
  // At once: in one band.
  await inBands(aligned(pixels), recipe, tensor, cutBands(0, rows, ms > AT_ONCE_MS ? ms : 0));
  return geometries;
}

/** Writes the bands that are missing on the JS thread, in turns. */
async function inBands(pixels: Pixels, recipe: TensorRecipe, tensor: TensorBits, bands: Bands): Promise<void> {
  const missing = missingBands(bands);
  let i = 0;
  await inTurns(() => {
    // Between two turns the caller may have sent the pixels to another thread; they would read as nothing.
    if (pixels.data.byteLength === 0) throw new TypeError("The image's buffer was detached during the run");
    const band = missing[i];
    if (band !== undefined) imageToTensor(pixels, recipe, tensor, rowsOf(bands, band));
    i += 1;
    return i >= missing.length;
  });
}

/** 16-bit samples at an odd address are copied once, and not again for every band. */
function aligned(pixels: Pixels): Pixels {
  const { data } = pixels;
  return depthOf(pixels) > 255 && data.byteOffset % 2 !== 0 ? { ...pixels, data: data.slice() } : pixels;
}

/** Whether threads could be had for it; then all of it is written. */
async function byThreads(
  pool: Threads,
  pixels: Pixels,
  recipe: TensorRecipe,
  out: HostTensor,
  tensor: TensorBits,
  rows: number,
  ms: number,
): Promise<boolean> {
  const shared = out.shm !== undefined || tensor.buffer instanceof SharedArrayBuffer;
  const kept = Math.ceil(TOKEN_BYTES / (recipe.width * ELEMENT_BYTES[recipe.datatype]));
  if (!shared || kept >= rows) return false;
  if (pool.unavailable !== undefined) {
    warnOnce(pool.unavailable);
    return false;
  }
  const bands = cutBands(kept, rows, ms);
  return pool.admit(() =>
    withSharedPixels(pixels, async (image) => {
      const destination = destinationOf(out, tensor);
      if (destination === undefined) return false;
      nextJob += 1;
      const count = tensor.length;
      const job = { id: nextJob, image, recipe, recipeId: idOf(recipe), destination, count, bands };
      const [failure = pool.unavailable] = await pool.run(job);
      if (failure !== undefined) warnOnce(failure);
      // The threads' copy of the pixels is aligned, and nobody can take it away.
      imageToTensor(image, recipe, tensor, { from: 0, to: kept });
      await inBands(image, recipe, tensor, bands);
      return true;
    }),
  );
}
