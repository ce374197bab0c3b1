import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/** A file in /dev/shm, made and looked at without the addon; removed at the end of the test. */
export class ShmObject {
  readonly key: string;
  readonly #path: string;

  constructor(bytes: Uint8Array | number, fill = 0) {
    this.key = `/zerohop-devserver-test-${randomBytes(6).toString('hex')}`;
    this.#path = `/dev/shm${this.key}`;
    writeFileSync(this.#path, typeof bytes === 'number' ? Buffer.alloc(bytes, fill) : bytes);
    onTestFinished(() => rmSync(this.#path, { force: true }));
  }

  bytes(): Buffer {
    return readFileSync(this.#path);
  }

  /** In place, as a client writes. */
  fill(value: number): void {
    writeFileSync(this.#path, Buffer.alloc(this.bytes().byteLength, value), { flag: 'r+' });
  }

  /** Writes a part in place. */
  fillPart(byteOffset: number, values: NodeJS.ArrayBufferView): void {
    const file = openSync(this.#path, 'r+');
    try {
      writeSync(file, values, 0, values.byteLength, byteOffset);
    } finally {
      closeSync(file);
    }
  }

  shrink(byteLength: number): void {
    truncateSync(this.#path, byteLength);
  }

  unlink(): void {
    rmSync(this.#path);
  }
}
