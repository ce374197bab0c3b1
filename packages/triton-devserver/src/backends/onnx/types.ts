import type { Datatype } from '../../datatype.js';
import type { DescribedTensor } from './messages.js';

/** What ONNX Runtime calls the protocol's datatypes. There is no BF16: neither the real backend nor the package has it. */
const TYPES: Readonly<Record<Exclude<Datatype, 'BF16'>, string>> = {
  BOOL: 'bool',
  UINT8: 'uint8',
  UINT16: 'uint16',
  UINT32: 'uint32',
  UINT64: 'uint64',
  INT8: 'int8',
  INT16: 'int16',
  INT32: 'int32',
  INT64: 'int64',
  FP16: 'float16',
  FP32: 'float32',
  FP64: 'float64',
  BYTES: 'string',
};

/** undefined for BF16. */
export function onnxType(datatype: Datatype): string | undefined {
  return datatype === 'BF16' ? undefined : TYPES[datatype];
}

/** undefined for what the protocol has no datatype for, such as `int4`. */
export function datatypeOf(type: string): Datatype | undefined {
  return (Object.keys(TYPES) as (keyof typeof TYPES)[]).find((datatype) => TYPES[datatype] === type);
}

/** The shape of a tensor of the file: -1 where it is not fixed. */
export function dimsOf({ shape }: DescribedTensor): number[] {
  return shape.map((dimension) => (typeof dimension === 'number' && dimension >= 0 ? dimension : -1));
}
