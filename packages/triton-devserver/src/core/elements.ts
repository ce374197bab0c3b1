import { serializeElements } from '../bytes-elements.js';
import { type Datatype, type Elements, elementCount, viewOf } from '../datatype.js';
import type { ModelOutputData, ModelTensor } from '../model.js';
import { attempt, internal, invalid } from '../status.js';

/**
 * A tensor's bytes as what a model gets: views, in place.
 *
 * @throws ServerError for elements of BYTES that are cut off, in the words of the Python backend; what is in a region may
 * have changed since the request was checked
 */
export function tensorOf(name: string, datatype: Datatype, shape: readonly number[], bytes: Uint8Array): ModelTensor {
  if (datatype !== 'BYTES') return { datatype, shape, data: viewOf(datatype, bytes) };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const data: Uint8Array[] = [];
  let offset = 0;
  for (let left = elementCount(shape); left > 0; left -= 1) {
    const start = offset + 4;
    if (start > bytes.byteLength) {
      throw invalid(
        `incomplete string length indicator for inference input '${name}', expecting 4 bytes but only ${bytes.byteLength - offset} bytes available`,
      );
    }
    const length = view.getUint32(offset, true);
    if (length > bytes.byteLength - start) {
      throw invalid(
        `incomplete string data for inference input '${name}', expecting string of length ${length} but only ${bytes.byteLength - start} bytes available`,
      );
    }
    data.push(bytes.subarray(start, start + length));
    offset = start + length;
  }
  return { datatype, shape, data };
}

/**
 * What a model gave for an output, as it goes out.
 *
 * @throws ServerError when it is of another type than the configuration says, or of another size than its shape
 */
export function bytesOf(name: string, datatype: Datatype, { data, shape }: ModelOutputData): Uint8Array {
  if (datatype === 'BYTES' ? !Array.isArray(data) : !isElements(datatype, data)) {
    throw internal(`The model gave ${kindOf(data)} for output '${name}', which is ${datatype}: ${wanted(datatype)}`);
  }
  if (!Array.isArray(shape)) throw internal(`The model gave no shape for output '${name}'`);
  const elements: readonly unknown[] | Elements = data;
  if (!isShape(shape) || elements.length !== elementCount(shape)) {
    throw internal(`output tensor shape does not match size of output for '${name}'`);
  }
  if (!ArrayBuffer.isView(elements)) return elementsOfBytes(name, elements);
  return new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
}

function isShape(shape: unknown): shape is readonly number[] {
  return Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= 0);
}

/** By kind, so that a Buffer is a Uint8Array and an array of another realm is one too. */
function isElements(datatype: Exclude<Datatype, 'BYTES'>, data: unknown): data is ArrayBufferView {
  const kind = arrayKind(data);
  return kind !== undefined && kind === arrayKind(viewOf(datatype, new Uint8Array(0)));
}

function wanted(datatype: Datatype): string {
  if (datatype === 'BYTES') return 'it takes an array of strings or byte strings';
  return `it takes a ${arrayKind(viewOf(datatype, new Uint8Array(0)))}`;
}

function elementsOfBytes(name: string, elements: readonly unknown[]): Uint8Array {
  for (const each of elements) {
    if (typeof each === 'string' || arrayKind(each) === 'Uint8Array') continue;
    throw internal(
      `The model gave ${kindOf(each)} for an element of output '${name}', which is a string or a Uint8Array`,
    );
  }
  return serializeElements(elements as readonly (string | Uint8Array)[]);
}

const typedArrayTag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);

/** What a typed array really is, whatever it says of itself; undefined for anything else. */
function arrayKind(value: unknown): string | undefined {
  return typedArrayTag?.get?.call(value) as string | undefined;
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'no data';
  const kind = arrayKind(value) ?? attempt(() => (value as object).constructor.name);
  return kind === undefined ? `${typeof value}` : `a ${kind}`;
}
