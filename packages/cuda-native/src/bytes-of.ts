import { util } from './builtins.js';
import { invalid } from './check.js';

type Getter<T> = (this: ArrayBufferView) => T;

/** What a view really is: its own properties can be made to say anything. */
function gettersOf(prototype: object) {
  const get = <T>(name: string) => Object.getOwnPropertyDescriptor(prototype, name)?.get as Getter<T>;
  return {
    buffer: get<ArrayBufferLike>('buffer'),
    byteOffset: get<number>('byteOffset'),
    byteLength: get<number>('byteLength'),
  };
}

const ofTypedArrays = gettersOf(Object.getPrototypeOf(Uint8Array.prototype) as object);
const ofDataViews = gettersOf(DataView.prototype);

function isDetached(buffer: ArrayBufferLike): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

/**
 * The bytes of a view, as they are used off the JS thread: the buffer must not shrink under that.
 *
 * @throws TypeError when it is none, its buffer is detached, or can be resized.
 */
export function bytesOf(name: string, value: unknown, expected: string): Uint8Array {
  if (!ArrayBuffer.isView(value)) throw invalid(name, expected, value);
  const getters = util.types.isDataView(value) ? ofDataViews : ofTypedArrays;
  const buffer = getters.buffer.call(value);
  checkBuffer(name, buffer, expected);
  return new Uint8Array(buffer, getters.byteOffset.call(value), getters.byteLength.call(value));
}

/**
 * The bytes of a whole ArrayBuffer.
 *
 * @throws TypeError as `bytesOf` does.
 */
export function bytesOfBuffer(name: string, buffer: ArrayBuffer, expected: string): Uint8Array {
  checkBuffer(name, buffer, expected);
  return new Uint8Array(buffer);
}

function checkBuffer(name: string, buffer: ArrayBufferLike, expected: string): void {
  if (isDetached(buffer)) throw new TypeError(`Expected ${expected} for ${name} but received one of a detached buffer`);
  if ((buffer as { readonly resizable?: boolean }).resizable === true) {
    throw new TypeError(`Expected ${expected} for ${name} but received one of a buffer that can be resized`);
  }
}
