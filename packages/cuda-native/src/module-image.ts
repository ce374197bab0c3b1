import { util } from './builtins.js';
import { bytesOf, bytesOfBuffer } from './bytes-of.js';

/**
 * The driver reads a fatbin or cubin by the sizes in its headers and gets no length: one that ends early would make it
 * read beyond the buffer. So the headers are followed here first. Sources: ELF-64 (System V ABI), fatbinary headers as
 * nvcc writes them.
 */

const FATBIN_MAGIC = 0xba55ed50;
const FATBIN_HEADER_BYTES = 16;
const FATBIN_ENTRY_HEADER_BYTES = 16;
const ELF_MAGIC = 0x464c457f;
const ELF_HEADER_BYTES = 64;
const ELF_SECTION_BYTES = 64;
const ELF_MACHINE_CUDA = 190;
const ELF_SECTION_WITHOUT_DATA = 8;

function damaged(what: string): never {
  throw new RangeError(`Expected a whole fatbin, cubin or PTX for image but received ${what}`);
}

function size(view: DataView, offset: number): number {
  const value = view.getBigUint64(offset, true);
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(value);
}

function checkFatbin(view: DataView): void {
  let offset = 0;
  // One or several containers, one behind the other.
  while (offset < view.byteLength) {
    if (view.byteLength - offset < FATBIN_HEADER_BYTES) damaged('a fatbin that ends in a header');
    if (view.getUint32(offset, true) !== FATBIN_MAGIC) {
      if (offset === 0) damaged('a fatbin without its magic number');
      // What follows a container is padding.
      return;
    }
    const headerBytes = view.getUint16(offset + 6, true);
    const end = offset + headerBytes + size(view, offset + 8);
    if (headerBytes < FATBIN_HEADER_BYTES || end > view.byteLength) damaged('a fatbin that ends early');
    checkFatbinEntries(view, offset + headerBytes, end);
    offset = end;
  }
}

function checkFatbinEntries(view: DataView, start: number, end: number): void {
  let offset = start;
  while (offset < end) {
    if (end - offset < FATBIN_ENTRY_HEADER_BYTES) damaged('a fatbin with an entry that ends early');
    const headerBytes = view.getUint32(offset + 4, true);
    const next = offset + headerBytes + size(view, offset + 8);
    if (headerBytes < FATBIN_ENTRY_HEADER_BYTES || next > end) damaged('a fatbin with an entry that ends early');
    offset = next;
  }
}

function checkElf(view: DataView): void {
  if (view.byteLength < ELF_HEADER_BYTES) damaged('an ELF file that ends in its header');
  if (view.getUint8(4) !== 2 || view.getUint8(5) !== 1 || view.getUint16(18, true) !== ELF_MACHINE_CUDA) {
    damaged('an ELF file for another machine');
  }
  const sections = size(view, 40);
  const sectionBytes = view.getUint16(58, true);
  const count = view.getUint16(60, true);
  if (count > 0 && sectionBytes < ELF_SECTION_BYTES) damaged('an ELF file with sections of a wrong size');
  if (sections + count * sectionBytes > view.byteLength) damaged('an ELF file that ends early');
  for (let i = 0; i < count; i += 1) {
    const section = sections + i * sectionBytes;
    if (view.getUint32(section + 4, true) === ELF_SECTION_WITHOUT_DATA) continue;
    if (size(view, section + 24) + size(view, section + 32) > view.byteLength) {
      damaged('an ELF file with a section that ends early');
    }
  }
  const segments = size(view, 32);
  const segmentBytes = view.getUint16(54, true);
  if (segments + view.getUint16(56, true) * segmentBytes > view.byteLength) damaged('an ELF file that ends early');
}

/**
 * The bytes of an image to load, checked as far as the driver relies on them.
 *
 * @throws TypeError when it is neither bytes nor text.
 * @throws RangeError when it is empty, of no known kind, or ends before its headers say.
 */
export function checkModuleImage(image: unknown): Uint8Array {
  const expected = 'fatbin, cubin or PTX as Uint8Array, ArrayBuffer or string';
  let bytes: Uint8Array;
  if (typeof image === 'string') bytes = Buffer.from(image);
  // A copy: shared memory may change between the check and the load.
  else if (util.types.isArrayBuffer(image)) bytes = bytesOfBuffer('image', image, expected).slice();
  else bytes = bytesOf('image', image, expected).slice();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 8) damaged(`${bytes.byteLength} bytes`);
  const magic = view.getUint32(0, true);
  if (magic === FATBIN_MAGIC) checkFatbin(view);
  else if (magic === ELF_MAGIC) checkElf(view);
  else checkPtx(bytes);
  return bytes;
}

function checkPtx(bytes: Uint8Array): void {
  const end = bytes.indexOf(0);
  // Trailing NULs, as some tools write them, are fine; others would hide the rest from the driver.
  if (end >= 0 && bytes.subarray(end).some((byte) => byte !== 0)) damaged('PTX with a NUL character inside');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, end < 0 ? bytes.byteLength : end);
  if (!/^\s*\.version\s+\d/m.test(text.toString('latin1'))) damaged('bytes that are none of the three');
}
