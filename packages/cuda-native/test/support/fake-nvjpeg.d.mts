/** What a file is decoded to: component c of a pixel. */
export function pattern(file: Uint8Array): (c: number, x: number, y: number) => number;

/** What an encoded file says of the pixels that it was made from: rows without gaps, plane by plane. */
export function comment(quality: number, pixels: Uint8Array): string;
