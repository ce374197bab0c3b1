/** Coefficients of YUV to RGB in units of 2^-20, as the NV12 kernels take them. */
export interface ColorMatrix {
  /** Subtracted from the luma. */
  readonly lumaOffset: number;
  readonly luma: number;
  readonly vToRed: number;
  readonly uToGreen: number;
  readonly vToGreen: number;
  readonly uToBlue: number;
}

const ONE = 2 ** 20;

/** The shares of red and blue in luma: ITU-R BT.601, BT.709 and BT.2020. */
const SHARES = { bt601: [0.299, 0.114], bt709: [0.2126, 0.0722], bt2020: [0.2627, 0.0593] } as const;

/** OpenCV's own integers, which differ from the rounded ones by up to 0.001. */
const OPENCV_BT601: ColorMatrix = {
  lumaOffset: 16,
  luma: 1220542,
  vToRed: 1673527,
  uToGreen: -409993,
  vToGreen: -852492,
  uToBlue: 2116026,
};

/** The matrix of a standard; limited BT.601 is OpenCV's. */
export function colorMatrix(standard: keyof typeof SHARES, range: 'limited' | 'full'): ColorMatrix {
  if (standard === 'bt601' && range === 'limited') return OPENCV_BT601;
  const [red, blue] = SHARES[standard];
  const green = 1 - red - blue;
  // Limited: luma has 219 steps instead of 255, chroma 224.
  const chroma = range === 'limited' ? 255 / 224 : 1;
  const fixed = (value: number) => Math.round(value * ONE);
  return {
    lumaOffset: range === 'limited' ? 16 : 0,
    luma: fixed(range === 'limited' ? 255 / 219 : 1),
    vToRed: fixed(2 * (1 - red) * chroma),
    uToGreen: fixed((-2 * (1 - blue) * blue * chroma) / green),
    vToGreen: fixed((-2 * (1 - red) * red * chroma) / green),
    uToBlue: fixed(2 * (1 - blue) * chroma),
  };
}
