import type { Stream } from '@zerohop/cuda-native';
import { PreprocError } from './errors.js';
import type { Image } from './image.js';
import type { PixelFormat } from './reference/formats.js';
import type { Crop, Geometry } from './reference/geometry.js';
import { geometriesOf, type TensorRecipe } from './reference/tensor.js';
import type { Target } from './target.js';

/** A picture as it is given: encoded, or its pixels. */
export type Source = Uint8Array | Image;

/** What a block is filled with. */
export interface Work {
  readonly sources: readonly Source[];
  readonly crop: Crop | undefined;
  /** The run's: pictures in device memory are read behind what it was given. */
  readonly stream: Stream | undefined;
}

/** What is asked of a picture, wherever its pixels are. */
export interface PictureShape {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  readonly crop: Crop;
}

/**
 * How a picture will be laid in: one geometry, or one for each tile of the batch.
 * @throws PreprocError ERR_IMAGE_SIZE, ERR_TENSOR_MISMATCH for a picture that the target can't take
 */
export function layPicture(picture: PictureShape, recipe: TensorRecipe, { batch, channels }: Target): Geometry[] {
  const { width, height, resize } = recipe;
  const { crop, format } = picture;
  if (resize === 'none' && (crop.width !== width || crop.height !== height)) {
    throw new PreprocError(
      'ERR_IMAGE_SIZE',
      `Expected an image of ${width}x${height} pixels, because resize is 'none', but received ${crop.width}x${crop.height}`,
    );
  }
  if (channels === 1 && !format.startsWith('GRAY')) {
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected GRAY8 or GRAY16 for a tensor of one channel but received ${format}`,
    );
  }
  const geometries = geometriesOf(picture, recipe);
  if (resize === 'tiles' && geometries.length !== batch) {
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      `Expected as many tiles as the block's batch, ${batch}, but an image of ${crop.width}x${crop.height} pixels has ${geometries.length}`,
    );
  }
  return geometries;
}
