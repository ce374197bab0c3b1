import { isBranded, nameErrors } from './error-brand.js';
import type { NativeFailure } from './errors.js';

const JPEG_BRAND = Symbol.for('@zerohop/cuda-native/JpegError');
const UNAVAILABLE_BRAND = Symbol.for('@zerohop/cuda-native/NvjpegUnavailableError');

/** `ERR_NVJPEG` is every other failure of nvJPEG; `statusName` and `call` name it. */
export type JpegErrorCode = 'ERR_JPEG_CORRUPT' | 'ERR_JPEG_TRUNCATED' | 'ERR_JPEG_UNSUPPORTED' | 'ERR_NVJPEG';

/** A JPEG, or a picture, was refused. The decoder or encoder can be used again. */
export class JpegError extends Error {
  static {
    nameErrors(JpegError, 'JpegError');
  }

  readonly code: JpegErrorCode;
  /** The nvjpegStatus_t; undefined when the bytes were refused before nvJPEG saw them. */
  readonly status: number | undefined;
  /** nvJPEG's name of the status, such as `NVJPEG_STATUS_BAD_JPEG`. */
  readonly statusName: string | undefined;
  /** The nvJPEG function that failed. */
  readonly call: string | undefined;
  readonly [JPEG_BRAND] = true;

  constructor(message: string, fields: Pick<JpegError, 'code' | 'status' | 'statusName' | 'call'>) {
    super(message);
    this.code = fields.code;
    this.status = fields.status;
    this.statusName = fields.statusName;
    this.call = fields.call;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, JPEG_BRAND);
  }
}

/** Why nvJPEG can't be used: no binary of this package for the platform, no library, or one that lacks a function. */
export type NvjpegUnavailableReason = 'no-prebuild' | 'no-library' | 'library-too-old';

/** nvJPEG can't be used on this machine. */
export class NvjpegUnavailableError extends Error {
  static {
    nameErrors(NvjpegUnavailableError, 'NvjpegUnavailableError');
  }

  readonly code = 'ERR_NVJPEG_UNAVAILABLE';
  readonly reason: NvjpegUnavailableReason;
  /** One line for each library that did not load. */
  readonly tried: readonly string[];
  readonly [UNAVAILABLE_BRAND] = true;

  constructor(message: string, reason: NvjpegUnavailableReason, tried: readonly string[], options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.tried = tried;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, UNAVAILABLE_BRAND);
  }
}

const ADVICE: Record<NvjpegUnavailableReason, string> = {
  'no-prebuild': 'Use Linux with glibc on x64 or arm64',
  'no-library':
    'Install libnvjpeg of CUDA 11, 12 or 13 (the toolkit, or the package nvidia-nvjpeg of PyPI) where the loader finds ' +
    'it, or name the file with ZEROHOP_LIBNVJPEG',
  'library-too-old': 'Install libnvjpeg of CUDA 11, 12 or 13',
};

/** The sentence for a machine without nvJPEG. */
export function nvjpegUnavailableMessage(reason: NvjpegUnavailableReason, what: string): string {
  return `nvJPEG is not available: ${what}. ${ADVICE[reason]}`;
}

/** The names of nvjpegStatus_t. */
const STATUS_NAMES = [
  'SUCCESS',
  'NOT_INITIALIZED',
  'INVALID_PARAMETER',
  'BAD_JPEG',
  'JPEG_NOT_SUPPORTED',
  'ALLOCATOR_FAILURE',
  'EXECUTION_FAILED',
  'ARCH_MISMATCH',
  'INTERNAL_ERROR',
  'IMPLEMENTATION_NOT_SUPPORTED',
  'INCOMPLETE_BITSTREAM',
];

/** Of what the addon itself finds in the bytes. */
const REASONS: Readonly<Record<string, JpegErrorCode>> = {
  corrupt: 'ERR_JPEG_CORRUPT',
  truncated: 'ERR_JPEG_TRUNCATED',
  unsupported: 'ERR_JPEG_UNSUPPORTED',
};

/** Only these functions see a picture: from others the same statuses say nothing about one. */
const STATUSES: Readonly<Record<string, Readonly<Record<string, JpegErrorCode>>>> = {
  nvjpegDecode: {
    BAD_JPEG: 'ERR_JPEG_CORRUPT',
    INCOMPLETE_BITSTREAM: 'ERR_JPEG_TRUNCATED',
    JPEG_NOT_SUPPORTED: 'ERR_JPEG_UNSUPPORTED',
    IMPLEMENTATION_NOT_SUPPORTED: 'ERR_JPEG_UNSUPPORTED',
  },
  nvjpegEncodeImage: {
    JPEG_NOT_SUPPORTED: 'ERR_JPEG_UNSUPPORTED',
    IMPLEMENTATION_NOT_SUPPORTED: 'ERR_JPEG_UNSUPPORTED',
  },
};

const SENTENCES: Record<JpegErrorCode, (what: string) => string> = {
  ERR_JPEG_CORRUPT: (what) => `The JPEG is damaged: ${what}. Copy or export it again`,
  ERR_JPEG_TRUNCATED: (what) => `The JPEG is truncated: ${what}. Copy or send it again`,
  ERR_JPEG_UNSUPPORTED: (what) =>
    `nvJPEG does not take this picture: ${what}. Use the CPU for it (sharp), or convert it to a baseline or ` +
    'progressive JPEG with 8 bits, in grey or YCbCr',
  ERR_NVJPEG: (what) => `${what}. Look at the device's free memory, and whether the driver is as new as the library`,
};

/** The error for what the addon reports of nvJPEG, or of the bytes that it was to be given. */
export function nvjpegFailure(failure: NativeFailure): Error {
  const { reason, detail, call, status, device } = failure;
  if (reason === 'size') return new RangeError(detail);
  if (reason === 'no-library' || reason === 'library-too-old') {
    const [what = '', ...tried] = detail.split('\n');
    return new NvjpegUnavailableError(nvjpegUnavailableMessage(reason, what), reason, tried);
  }
  if (call === '') {
    const code = REASONS[reason] ?? 'ERR_NVJPEG';
    return new JpegError(SENTENCES[code](detail), { code, status: undefined, statusName: undefined, call: undefined });
  }
  const name = STATUS_NAMES[status] ?? String(status);
  const code = STATUSES[call]?.[name] ?? 'ERR_NVJPEG';
  const statusName = `NVJPEG_STATUS_${name}`;
  return new JpegError(SENTENCES[code](`${call} failed: ${statusName} on device ${device}`), {
    code,
    status,
    statusName,
    call,
  });
}
