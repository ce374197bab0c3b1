import { isUtf8 } from 'node:buffer';
import { type Datatype, type Elements, elementByteLength, elementCount, viewOf } from '../../datatype.js';
import type { ModelOutputData, ModelRequest, ModelTensor } from '../../model.js';
import { invalid, ServerError } from '../../status.js';
import type { Sent } from './messages.js';
import { datatypeOf, onnxType } from './types.js';

export interface GatherOptions {
  /** Whether the first dimension is that of the batch. */
  readonly batched: boolean;
  /** Whether the file has the input without dimensions. */
  readonly scalar: boolean;
  /** Gives the memory that the input goes to. */
  readonly buffer: (byteLength: number) => ArrayBuffer;
}

/**
 * An input of the requests of one execution, one after the other. Each byte is copied once.
 *
 * @throws ServerError for texts that JavaScript can't hold
 */
export function gather(name: string, parts: readonly ModelTensor[], options: GatherOptions): Sent {
  const [{ datatype, shape }] = parts as readonly [ModelTensor];
  const type = onnxType(datatype);
  if (type === undefined) throw invalid(`onnx runtime error: ${datatype} of '${name}' is not supported`);
  const batch = parts.reduce((sum, part) => sum + (part.shape[0] ?? 0), 0);
  const dims = options.scalar ? [] : options.batched ? [batch, ...shape.slice(1)] : [...shape];
  if (datatype === 'BYTES') {
    const texts = parts.flatMap(({ data }) => (data as readonly Uint8Array[]).map((text) => textOf(name, text)));
    return { name, type, dims, data: texts };
  }
  const sources = parts.map(({ data }) => {
    const view = data as Elements;
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  });
  const data = options.buffer(sources.reduce((sum, { byteLength }) => sum + byteLength, 0));
  const target = new Uint8Array(data);
  let at = 0;
  for (const source of sources) {
    target.set(source, at);
    at += source.byteLength;
  }
  return { name, type, dims, data };
}

/** As the real backend, which hands on C strings: what follows a zero byte is lost. */
function textOf(name: string, bytes: Uint8Array): string {
  const zero = bytes.indexOf(0);
  const kept = zero === -1 ? bytes : bytes.subarray(0, zero);
  if (!isUtf8(kept)) {
    throw new ServerError('UNSUPPORTED', `an element of '${name}' is no UTF-8, and onnxruntime-node takes only text`);
  }
  return Buffer.from(kept.buffer, kept.byteOffset, kept.byteLength).toString('utf8');
}

/**
 * Each request's part of an output of their common execution: views of it, in order.
 *
 * @param sizes the batch sizes of the requests; undefined when the model has no batches and the request is alone
 * @param scalar the shape that stands for no dimensions
 */
export function scatter(
  { name, type, dims, data }: Sent,
  requests: readonly ModelRequest[],
  sizes: readonly number[] | undefined,
  scalar: readonly number[],
): (ModelOutputData | ServerError)[] {
  const whole = dims.length === 0 ? scalar : dims;
  const datatype = datatypeOf(type);
  const cut = (from: number, to: number): ModelOutputData['data'] =>
    data instanceof ArrayBuffer
      ? elements(datatype as Exclude<Datatype, 'BYTES'>, data, from, to)
      : data.slice(from, to);
  if (sizes === undefined) return [{ shape: whole, data: cut(0, elementCount(whole)) }];
  const rest = whole.slice(1);
  const each = elementCount(rest);
  const got = whole[0] ?? 0;
  let end = 0;
  return sizes.map((size, index) => {
    const from = end;
    end += size;
    if (end <= got) return { shape: [size, ...rest], data: cut(from * each, end * each) };
    const { id } = requests[index] as ModelRequest;
    return new ServerError(
      'UNSUPPORTED',
      `[request id: ${id === '' ? '<id_unknown>' : id}] failed to split the output tensor '${name}' in responses: ` +
        `expected batch size of atleast ${end} in model output, got ${got}`,
    );
  });
}

function elements(datatype: Exclude<Datatype, 'BYTES'>, buffer: ArrayBuffer, from: number, to: number): Elements {
  const size = elementByteLength(datatype) as number;
  return viewOf(datatype, new Uint8Array(buffer, from * size, (to - from) * size));
}
