/** What `preproc.js` measures: one launch each. */
import type { KernelRecipe, PixelFormat } from '@zerohop/gpu-preproc/gpu';

/** Microseconds of our p50: at most this by the method "node", and at most this, or this share of the copy, by "event". */
export interface Goal {
  readonly nodeUs?: number;
  readonly eventUs?: number;
  readonly eventOfCopy?: number;
}

export interface Row {
  readonly id: string;
  readonly says: string;
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  readonly recipe: KernelRecipe;
  /** Bytes of the image that have to be read, and bytes of the tensor. */
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly goal?: Goal;
}

const UHD = { width: 3840, height: 2160 };
const PIXELS = UHD.width * UHD.height;
const whole = (datatype: 'FP32' | 'FP16'): KernelRecipe => ({ ...UHD, resize: 'none', datatype });
const floats = (datatype: 'FP32' | 'FP16', values: number) => values * (datatype === 'FP32' ? 4 : 2);

function identity(
  id: string,
  what: string,
  format: PixelFormat,
  bytes: number,
  datatype: 'FP32' | 'FP16',
  goal: Goal,
): Row {
  return {
    id,
    says: `${what}, 3840x2160, to [1,3,2160,3840] ${datatype}`,
    ...UHD,
    format,
    recipe: whole(datatype),
    readBytes: bytes,
    writtenBytes: floats(datatype, 3 * PIXELS),
    goal,
  };
}

const letterboxRow = (datatype: 'FP32' | 'FP16', goal: Goal): Row => ({
  id: `letterbox-${datatype.toLowerCase()}`,
  says: `RGB8, 3840x2160, letterbox to [1,3,640,640] ${datatype}`,
  ...UHD,
  format: 'RGB8',
  recipe: { width: 640, height: 640, datatype },
  // Two rows of six: 640 x 360 pixels of four source pixels each lie in 720 whole rows.
  readBytes: 720 * UHD.width * 3,
  writtenBytes: floats(datatype, 3 * 640 * 640),
  goal,
});

export const ROWS: readonly Row[] = [
  letterboxRow('FP32', { nodeUs: 6.5, eventUs: 8.7 }),
  letterboxRow('FP16', { nodeUs: 6.5, eventUs: 8.7 }),
  identity('identity-fp32', 'RGB8', 'RGB8', 3 * PIXELS, 'FP32', { nodeUs: 35, eventOfCopy: 1.03 }),
  identity('identity-fp16', 'RGB8', 'RGB8', 3 * PIXELS, 'FP16', { nodeUs: 22, eventOfCopy: 1 }),
  identity('nv12', 'NV12', 'NV12', 1.5 * PIXELS, 'FP32', { nodeUs: 33, eventOfCopy: 1.05 }),
  identity('bayer8', 'Bayer 8 bit', 'BAYER_RG8', PIXELS, 'FP32', { eventOfCopy: 1.1 }),
  identity('bayer12', 'Bayer 12 bit', 'BAYER_RG12', 2 * PIXELS, 'FP32', {}),
  identity('gray16', 'GRAY16', 'GRAY16', 2 * PIXELS, 'FP32', { eventOfCopy: 1.1 }),
  identity('rgba8', 'RGBA8', 'RGBA8', 4 * PIXELS, 'FP32', {}),
  identity('planar8', 'RGB8P', 'RGB8P', 3 * PIXELS, 'FP32', {}),
  {
    ...identity('table', 'RGB8 with mean and std', 'RGB8', 3 * PIXELS, 'FP32', {}),
    recipe: { ...whole('FP32'), mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
  },
  {
    ...letterboxRow('FP32', {}),
    id: 'letterbox-table',
    says: 'RGB8 with mean and std, 3840x2160, letterbox to [1,3,640,640] FP32',
    recipe: { width: 640, height: 640, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
  },
  {
    id: 'tiles',
    says: 'RGB8, 7680x4320, to 24 tiles [24,3,1280,1280] FP16, the last row of tiles overlapping',
    width: 7680,
    height: 4320,
    format: 'RGB8',
    recipe: { width: 1280, height: 1280, resize: 'tiles', datatype: 'FP16' },
    readBytes: 3 * 7680 * 4320,
    writtenBytes: floats('FP16', 24 * 3 * 1280 * 1280),
    goal: { eventOfCopy: 1.1 },
  },
];
