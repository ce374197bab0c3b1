// Turns the letters of a font into path strings, so that labels need no font on the machine that draws them: librsvg
// renders <text> as empty boxes where fontconfig knows no font. Run by `pnpm build`, after tsup.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import opentype from 'opentype.js';

const require = createRequire(import.meta.url);
const fontFolder = dirname(require.resolve('@fontsource/inter/package.json'));
const fontFile = join(fontFolder, 'files', 'inter-latin-600-normal.woff');

const range = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i));
/** Printable ASCII and Latin-1. */
const characters = [...range(0x20, 0x7e), ...range(0xa0, 0xff)];

/**
 * The table that `src/annotate/glyphs.ts` describes. Glyph by glyph: the shaping of opentype.js 2.0.0 throws on this
 * font ("substFormat: 2 is not yet supported").
 */
export function buildGlyphs() {
  const bytes = readFileSync(fontFile);
  const font = opentype.parse(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const glyphs = {};
  for (const character of characters) {
    const glyph = font.charToGlyph(character);
    if (glyph.index === 0) continue;
    glyphs[character] = [glyph.advanceWidth, glyph.getPath(0, 0, font.unitsPerEm).toPathData(0)];
  }
  return { unitsPerEm: font.unitsPerEm, capHeight: font.tables.os2.sCapHeight, glyphs };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dist = fileURLToPath(new URL('../dist/', import.meta.url));
  mkdirSync(dist, { recursive: true });
  writeFileSync(join(dist, 'glyphs.json'), JSON.stringify(buildGlyphs()));
  // The outlines stay under the font's own licence, which asks to travel with them.
  writeFileSync(join(dist, 'glyphs.LICENSE'), readFileSync(join(fontFolder, 'LICENSE')));
}
