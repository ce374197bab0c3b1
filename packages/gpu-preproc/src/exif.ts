export const exifOrientation = (_: Uint8Array): number => 1;
