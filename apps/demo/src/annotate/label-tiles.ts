import sharp from 'sharp';
import type { GlyphTable } from './glyphs.js';
import type { Raster, Rgb } from './raster.js';

/** Renders short texts into small opaque pictures and keeps them, since the same few texts come back all the time. */
export class LabelTiles {
  readonly #glyphs: GlyphTable;
  readonly #tiles = new Map<string, Promise<Raster>>();

  constructor(glyphs: GlyphTable) {
    this.#glyphs = glyphs;
  }

  /**
   * The text on a plate of colour `plate`, letters `fontSize` pixels to the em, black or white by the plate's
   * brightness. A character the table does not have is drawn as `?`.
   */
  render(text: string, fontSize: number, plate: Rgb): Promise<Raster> {
    const key = `${fontSize} ${plate.join()} ${text}`;
    let tile = this.#tiles.get(key);
    if (tile === undefined) {
      tile = this.#draw(text, fontSize, plate);
      this.#tiles.set(key, tile);
    }
    return tile;
  }

  async #draw(text: string, fontSize: number, plate: Rgb): Promise<Raster> {
    const { unitsPerEm, capHeight, glyphs } = this.#glyphs;
    const scale = fontSize / unitsPerEm;
    const padding = Math.round(fontSize * 0.3);
    const height = Math.round(capHeight * scale) + 2 * padding;
    let advance = 0;
    let paths = '';
    for (const character of text) {
      const [width, path] = glyphs[character] ?? glyphs['?'] ?? [0, ''];
      if (path !== '') paths += `<path transform="translate(${advance} 0)" d="${path}"/>`;
      advance += width;
    }
    const width = Math.ceil(advance * scale) + 2 * padding;
    const svg =
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
      `<rect width="100%" height="100%" fill="rgb(${plate.join()})"/>` +
      `<g fill="${isBright(plate) ? '#000' : '#fff'}" transform="translate(${padding} ${height - padding}) scale(${scale})">${paths}</g></svg>`;
    const { data, info } = await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, data };
  }
}

/** Perceived brightness by the weights of ITU-R BT.601. */
function isBright([red, green, blue]: Rgb): boolean {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 150;
}
