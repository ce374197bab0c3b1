// JPEGs for the fake nvJPEG (fake_nvjpeg.h): grey, all of one tone, one block of two bits.

/** Their width and height. */
export const SIDE = 8;

function segment(marker, ...contents) {
  const length = contents.length + 2;
  return [0xff, marker, length >> 8, length & 255, ...contents];
}

function greyJpeg(comment) {
  const oneCode = [1, ...Array(15).fill(0)];
  return Uint8Array.from([
    ...[0xff, 0xd8],
    ...segment(0xfe, ...Buffer.from(comment)),
    ...segment(0xdb, 0, ...Array(64).fill(8)),
    ...segment(0xc0, 8, 0, SIDE, 0, SIDE, 1, 1, 0x11, 0),
    ...segment(0xc4, 0x00, ...oneCode, 0),
    ...segment(0xc4, 0x10, ...oneCode, 0),
    ...segment(0xda, 1, 1, 0, 0, 63, 0),
    ...[0x3f, 0xff, 0xd9],
  ]);
}

export const sound = greyJpeg('sound');
/** JPEG engines refuse it. */
export const odd = greyJpeg('odd on purpose');
/** It looks right until nvJPEG decodes it. */
export const damaged = greyJpeg('damaged on purpose');
