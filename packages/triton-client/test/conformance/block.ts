import { randomBytes } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';

/** An object of POSIX shared memory, by its file: enough for a test, and needs no native code. */
export class Block {
  readonly name = `zerohop-conformance-${randomBytes(6).toString('hex')}`;
  readonly key = `/${this.name}`;
  readonly byteLength: number;
  readonly #file: number;

  /** Zeroed. */
  constructor(byteLength: number) {
    this.byteLength = byteLength;
    this.#file = openSync(`/dev/shm${this.key}`, 'wx+');
    ftruncateSync(this.#file, byteLength);
  }

  write(byteOffset: number, values: Int32Array | Float32Array | Uint8Array): void {
    writeSync(this.#file, values, 0, values.byteLength, byteOffset);
  }

  int32(byteOffset: number, length: number): number[] {
    const values = new Int32Array(length);
    readSync(this.#file, values, 0, values.byteLength, byteOffset);
    return Array.from(values);
  }

  /** The server keeps its own mapping. */
  close(): void {
    closeSync(this.#file);
    unlinkSync(`/dev/shm${this.key}`);
  }
}
