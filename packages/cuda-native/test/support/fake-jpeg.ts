/** What the fake nvJPEG does with pictures (fake_nvjpeg.h), and one for it. */
import { SAMPLINGS, writeJpeg } from './jpeg-writer.js';

export { comment, pattern } from './fake-nvjpeg.mjs';

export const WIDTH = 40;
export const HEIGHT = 24;
export const jpeg = writeJpeg({ width: WIDTH, height: HEIGHT, sampling: SAMPLINGS['4:2:0'] });
