/** The little of the protobuf wire format that the inference messages need. */

export const WireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The bytes that a varint of `value`, a whole number from 0 to 2^53, takes. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1;
  return length;
}

/** Writes one message into a buffer that grows; made to be kept and used again. */
export class WireWriter {
  #bytes = Buffer.allocUnsafeSlow(1024);
  #length = 0;

  reset(): void {
    this.#length = 0;
  }

  get byteLength(): number {
    return this.#length;
  }

  copyTo(target: Uint8Array): void {
    this.#bytes.copy(target, 0, 0, this.#length);
  }

  tag(field: number, wireType: number): void {
    this.varint(field * 8 + wireType);
  }

  /** A whole number from 0 to 2^53. */
  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  /** An int64: negative values take ten bytes. */
  int64(value: bigint): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    while (rest >= 0x80n) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  string(field: number, value: string): void {
    const length = Buffer.byteLength(value);
    this.tag(field, WireType.bytes);
    this.varint(length);
    this.#reserve(length);
    this.#length += this.#bytes.write(value, this.#length);
  }

  /** A nested message: `write` writes its fields with this writer. */
  message(field: number, write: () => void): void {
    this.tag(field, WireType.bytes);
    const start = this.#length;
    this.#reserve(1);
    this.#length += 1;
    write();
    // The length stands before what it counts: one byte was kept for it, more are made by moving the message up.
    const length = this.#length - start - 1;
    const extra = varintLength(length) - 1;
    if (extra > 0) {
      this.#reserve(extra);
      this.#bytes.copyWithin(start + 1 + extra, start + 1, this.#length);
    }
    const end = this.#length + extra;
    this.#length = start;
    this.varint(length);
    this.#length = end;
  }

  #reserve(byteLength: number): void {
    const needed = this.#length + byteLength;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** The message breaks off, or a length, a tag or a varint is not one. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Reads one message front to back. Every read is bounded by the message's end. */
export class WireReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  offset: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#end = end;
    this.offset = start;
  }

  get done(): boolean {
    return this.offset >= this.#end;
  }

  /** An unsigned varint below 2^53, such as tags and lengths. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 8; count += 1) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      scale *= 0x80;
    }
    throw new WireError('a varint exceeds 2^53');
  }

  /** A varint of up to 64 bits, as int64. */
  int64(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new WireError('a varint has more than 10 bytes');
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  /** Steps over `length` bytes. */
  advance(length: number): void {
    this.#take(length);
  }

  /** The bytes of a length-delimited field, as a view. */
  bytes(): Buffer {
    const length = this.varint();
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  string(): string {
    const length = this.varint();
    const start = this.#take(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** The message of a length-delimited field. */
  message(): WireReader {
    const length = this.varint();
    const start = this.#take(length);
    return new WireReader(this.#bytes, start, start + length);
  }

  /** Steps over a field of a kind that is not read. */
  skip(wireType: number): void {
    if (wireType === WireType.varint) this.#skipVarint();
    else if (wireType === WireType.fixed64) this.#take(8);
    else if (wireType === WireType.bytes) this.#take(this.varint());
    else if (wireType === WireType.fixed32) this.#take(4);
    else throw new WireError(`wire type ${wireType} is not in use`);
  }

  #skipVarint(): void {
    for (let count = 0; count < 10; count += 1) if (this.#byte() < 0x80) return;
    throw new WireError('a varint has more than 10 bytes');
  }

  #byte(): number {
    if (this.offset >= this.#end) throw new WireError('the message breaks off');
    // In range: checked above.
    return this.#bytes[this.offset++] as number;
  }

  #take(length: number): number {
    const start = this.offset;
    if (length > this.#end - start) throw new WireError('the message breaks off');
    this.offset = start + length;
    return start;
  }
}
