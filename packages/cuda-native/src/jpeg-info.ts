/** What the header of a JPEG says. */
export interface JpegInfo {
  /** In pixels, as stored: an EXIF orientation is not looked at. */
  readonly width: number;
  readonly height: number;
  /** 1 is grey, 3 colour, 4 CMYK. */
  readonly components: number;
  /** `other` is none that nvJPEG decodes. `4:1:0v` has two columns and four rows of pixels to a sample of colour. */
  readonly subsampling: '4:4:4' | '4:2:2' | '4:2:0' | '4:4:0' | '4:1:1' | '4:1:0' | '4:1:0v' | 'gray' | 'other';
  /** nvJPEG decodes the first three. */
  readonly process: 'baseline' | 'extended' | 'progressive' | 'lossless' | 'hierarchical' | 'arithmetic';
  /** What the components are. nvJPEG decodes `GRAY` and `YCbCr`. */
  readonly color: 'GRAY' | 'YCbCr' | 'RGB' | 'CMYK' | 'YCCK' | 'other';
  /** nvJPEG decodes 8. */
  readonly bitsPerSample: number;
}

/** A picture that was decoded. */
export interface DecodedImage extends JpegInfo {
  /** Bytes from a row to the next, in each plane. */
  readonly pitch: number;
}
