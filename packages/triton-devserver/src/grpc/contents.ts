import { serializeElements } from '../bytes-elements.js';
import { type Datatype, elementByteLength } from '../datatype.js';
import { invalid } from '../status.js';
import type { InferTensorContents } from './gen/grpc_service.js';

type Field = Exclude<keyof InferTensorContents, never>;

interface Kind {
  readonly field: Field;
  /** What the texts call it. */
  readonly type: Datatype;
  readonly fits: readonly Datatype[];
}

/** In the order in which the server looks at them. */
const KINDS: readonly Kind[] = [
  { field: 'bool_contents', type: 'BOOL', fits: ['BOOL'] },
  { field: 'int_contents', type: 'INT32', fits: ['INT8', 'INT16', 'INT32'] },
  { field: 'int64_contents', type: 'INT64', fits: ['INT64'] },
  { field: 'uint_contents', type: 'UINT32', fits: ['UINT8', 'UINT16', 'UINT32'] },
  { field: 'uint64_contents', type: 'UINT64', fits: ['UINT64'] },
  { field: 'fp32_contents', type: 'FP32', fits: ['FP32'] },
  { field: 'fp64_contents', type: 'FP64', fits: ['FP64'] },
  { field: 'bytes_contents', type: 'BYTES', fits: ['BYTES'] },
];

/** The bytes of a tensor that came as typed values. Of integers that are too large the low bytes count. */
export function contentsBytes(
  name: string,
  model: string,
  datatype: string,
  contents: InferTensorContents,
): Uint8Array {
  let bytes: Uint8Array | undefined;
  for (const { field, type, fits } of KINDS) {
    const values = contents[field];
    if (values.length === 0) continue;
    const what = `unexpected explicit tensor data for input tensor '${name}' for model '${model}'`;
    if (bytes !== undefined) throw invalid(`${what}, binary data was already supplied.`);
    if (!(fits as readonly string[]).includes(datatype)) {
      throw invalid(`${what} of type '${type}', expected datatype '${datatype}'`);
    }
    bytes = encode(datatype as Datatype, values);
  }
  return bytes ?? new Uint8Array(0);
}

function encode(datatype: Datatype, values: InferTensorContents[Field]): Uint8Array {
  if (datatype === 'BYTES') return serializeElements(values as Uint8Array[]);
  const size = elementByteLength(datatype) as number;
  const bytes = new Uint8Array(values.length * size);
  const view = new DataView(bytes.buffer);
  values.forEach((value, index) => {
    const at = index * size;
    if (typeof value === 'bigint') view.setBigUint64(at, BigInt.asUintN(64, value), true);
    else if (datatype === 'FP32') view.setFloat32(at, value as number, true);
    else if (datatype === 'FP64') view.setFloat64(at, value as number, true);
    else if (size === 4) view.setInt32(at, value as number, true);
    else if (size === 2) view.setInt16(at, value as number, true);
    else view.setInt8(at, Number(value));
  });
  return bytes;
}
