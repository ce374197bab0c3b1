import { serializeElements } from '../bytes-elements.js';
import { type Datatype, elementByteLength, isDatatype, viewOf } from '../datatype.js';
import { internal, invalid, ServerError } from '../status.js';
import { doubleToJson } from './json-double.js';
import { asBoolean, asBytes, asDouble, asSigned, asUnsigned, type Json } from './json-value.js';
import { type ByteText, bytesToJson } from './json-writer.js';

/** Runs `read`; what it throws then begins with what could not be read. */
export function named<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ServerError) throw new ServerError(error.code, `${what}: ${error.message}`);
    throw error;
  }
}

type Write = (bytes: DataView, at: number, json: Json) => void;

const low = (json: number | bigint) => Number(BigInt.asIntN(32, BigInt(json)));

/** How an element is read; of integers that are too large the low bytes count. */
const WRITERS: Readonly<Record<Exclude<Datatype, 'BYTES' | 'FP16' | 'BF16'>, Write>> = {
  BOOL: (bytes, at, json) => bytes.setUint8(at, asBoolean(json) ? 1 : 0),
  UINT8: (bytes, at, json) => bytes.setUint8(at, low(asUnsigned(json))),
  UINT16: (bytes, at, json) => bytes.setUint16(at, low(asUnsigned(json)), true),
  UINT32: (bytes, at, json) => bytes.setUint32(at, low(asUnsigned(json)), true),
  UINT64: (bytes, at, json) => bytes.setBigUint64(at, asUnsigned(json), true),
  INT8: (bytes, at, json) => bytes.setInt8(at, low(asSigned(json))),
  INT16: (bytes, at, json) => bytes.setInt16(at, low(asSigned(json)), true),
  INT32: (bytes, at, json) => bytes.setInt32(at, low(asSigned(json)), true),
  INT64: (bytes, at, json) => bytes.setBigInt64(at, BigInt(asSigned(json)), true),
  FP32: (bytes, at, json) => bytes.setFloat32(at, asDouble(json), true),
  FP64: (bytes, at, json) => bytes.setFloat64(at, asDouble(json), true),
};

/** The elements of nested lists in order: how they are nested means nothing to the server. */
function* leaves(json: Json): Generator<Json> {
  if (!Array.isArray(json)) {
    yield json;
    return;
  }
  for (const element of json as readonly Json[]) {
    if (Array.isArray(element)) yield* leaves(element as readonly Json[]);
    else yield element;
  }
}

/**
 * A tensor's bytes from its JSON: a list, nested or not, or one element alone.
 *
 * @param count how many elements there have to be; BYTES may have others, which the core finds
 * @throws ServerError
 */
export function tensorBytes(name: string, datatype: string, json: Json, count: number): Uint8Array {
  if (!isDatatype(datatype)) throw invalid(`invalid datatype for input ${name}`);
  if (datatype === 'BYTES') return bytesElements(json);
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw invalid(
      `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
    );
  }
  const size = elementByteLength(datatype) ?? 0;
  const wrongCount = () => internal("Unable to parse 'data': Shape does not match true shape of 'data' field");
  // So many cannot have been sent.
  if (!(count >= 0 && count <= 2 ** 31)) throw wrongCount();
  const bytes = new Uint8Array(count * size);
  const view = new DataView(bytes.buffer);
  const write = WRITERS[datatype];
  let index = 0;
  for (const element of leaves(json)) {
    if (index >= count) throw wrongCount();
    const at = index * size;
    try {
      write(view, at, element);
    } catch (error) {
      named("Unable to parse 'data'", () => {
        throw error;
      });
    }
    index += 1;
  }
  if (index < count) throw wrongCount();
  return bytes;
}

function bytesElements(json: Json): Uint8Array {
  return serializeElements(
    [...leaves(json)].map((element) => named('Unable to parse JSON bytes array', () => asBytes(element))),
  );
}

/**
 * A tensor's elements as JSON, without the brackets: whole numbers with all their digits, FP32 as the double that it is.
 *
 * @throws ServerError for the datatypes that JSON has no form for
 */
export function tensorElements(datatype: Datatype, bytes: Uint8Array): ByteText[] {
  if (datatype === 'BYTES') return bytesTexts(bytes);
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw invalid(`sending ${datatype} data via JSON is not supported. Please use the binary data format for output`);
  }
  const texts: ByteText[] = [];
  const isDouble = datatype === 'FP32' || datatype === 'FP64';
  for (const value of viewOf(datatype, bytes)) {
    if (datatype === 'BOOL') texts.push(value === 0 ? 'false' : 'true');
    else texts.push(isDouble ? doubleToJson(value as number) : String(value));
  }
  return texts;
}

function bytesTexts(bytes: Uint8Array): ByteText[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: ByteText[] = [];
  for (let at = 0; at + 4 <= bytes.byteLength; ) {
    const end = at + 4 + view.getUint32(at, true);
    texts.push(bytesToJson(bytes.subarray(at + 4, end)));
    at = end;
  }
  return texts;
}
