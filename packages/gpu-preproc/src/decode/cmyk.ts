import type { Sharp, SharpOptions } from 'sharp';

/**
 * A picture of the four inks as a pipeline to RGB: each of red, green and blue is (1 − ink)·(1 − black), as OpenCV and
 * Pillow have it, without a colour profile. A fifth channel (transparency) is left out, as by Pillow. `picture` must come
 * from sharp with `ignoreIcc`; `depth` is that of its metadata.
 */
export async function rgbOfCmyk(
  factory: (input: Uint8Array | Uint16Array, options: SharpOptions) => Sharp,
  picture: Sharp,
  depth: string | undefined,
): Promise<Sharp> {
  const deep = depth === 'ushort';
  const { data, info } = await picture
    .pipelineColourspace('cmyk')
    .toColourspace('cmyk')
    .negate()
    .removeAlpha()
    .raw({ depth: deep ? 'ushort' : 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const whites = deep ? new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2) : data;
  // What black leaves takes the place of alpha: blending over black is then the product that is wanted.
  return factory(whites, {
    raw: { width: info.width, height: info.height, channels: 4 },
    limitInputPixels: false,
  });
}
