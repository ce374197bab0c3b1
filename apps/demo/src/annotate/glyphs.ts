import { readFile } from 'node:fs/promises';

/** Outlines of a font's letters in font units, y downwards, baseline at 0. Made by `scripts/build-glyphs.mjs`. */
export interface GlyphTable {
  readonly unitsPerEm: number;
  readonly capHeight: number;
  /** Character → advance width and SVG path data. */
  readonly glyphs: Readonly<Record<string, readonly [advance: number, path: string]>>;
}

/** Reads the table that the build puts beside the code. */
export async function loadGlyphs(): Promise<GlyphTable> {
  return JSON.parse(await readFile(new URL('./glyphs.json', import.meta.url), 'utf8')) as GlyphTable;
}
