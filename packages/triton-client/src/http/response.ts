import { TritonError } from '../errors.js';

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A whole answer. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer;
  /** The length of the JSON before the tensors' bytes, where the answer says that it has such. */
  readonly jsonByteLength: number | undefined;
}

/** Typed arrays over the tensors want this. */
const ALIGNMENT = 8;

/**
 * The body of one answer as it comes. One whose length is known is written into one buffer, in which the tensors begin
 * where a typed array may.
 */
export class ResponseBody {
  readonly jsonByteLength: number | undefined;
  readonly #whole: Buffer | undefined;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  /** @throws TritonError `TRITON_MALFORMED_RESPONSE` for lengths that cannot be */
  constructor(headers: ResponseHeaders) {
    this.jsonByteLength = lengthOf(headers, 'inference-header-content-length');
    const byteLength = lengthOf(headers, 'content-length');
    if (byteLength === undefined) return;
    const before = (ALIGNMENT - ((this.jsonByteLength ?? 0) % ALIGNMENT)) % ALIGNMENT;
    try {
      this.#whole = Buffer.allocUnsafeSlow(before + byteLength).subarray(before);
    } catch (cause) {
      throw malformedHttp(`its ${byteLength} bytes are more than a buffer can hold`, cause);
    }
  }

  write(chunk: Buffer): void {
    if (this.#whole === undefined) this.#chunks.push(chunk);
    else chunk.copy(this.#whole, this.#length);
    this.#length += chunk.byteLength;
  }

  /** @throws TritonError `TRITON_MALFORMED_RESPONSE` when it is shorter than it was to be */
  finish(): Buffer {
    if (this.#whole === undefined) return Buffer.concat(this.#chunks);
    if (this.#length !== this.#whole.byteLength) {
      throw malformedHttp(`${this.#length} bytes came of ${this.#whole.byteLength}`);
    }
    return this.#whole;
  }
}

/** One value of a header; several are as good as none. */
export function headerOf(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

function lengthOf(headers: ResponseHeaders, name: string): number | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  const length = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isNaN(length)) throw malformedHttp(`its header ${name} is '${String(value)}'`);
  return length;
}

/** The error for an answer that HTTP servers don't give. */
export function malformedHttp(details: string, cause?: unknown): TritonError {
  return new TritonError(`The HTTP answer cannot be read: ${details}`, {
    code: 'TRITON_MALFORMED_RESPONSE',
    method: 'HTTP',
    details,
    cause,
  });
}
