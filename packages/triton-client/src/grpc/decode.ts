import { isDatatype } from '../datatype.js';
import {
  type AskedOutputs,
  type InferResultFields,
  LazyOutput,
  LazyResult,
  malformedAnswer,
  type OutputHead,
  placeOf,
} from '../lazy-result.js';
import type { ParameterValue } from '../types/request.js';
import type { InferResult } from '../types/result.js';
import { WireError, WireReader, WireType } from './wire.js';

/** Field numbers of the protocol; grpc_service.proto has them in full. */
const StreamResponse = { errorMessage: 1, inferResponse: 2 } as const;
const Response = { modelName: 1, modelVersion: 2, id: 3, parameters: 4, outputs: 5, rawOutput: 6 } as const;
const Output = { name: 1, datatype: 2, shape: 3 } as const;
const MapEntry = { key: 1, value: 2 } as const;
const Parameter = { bool: 1, int64: 2, string: 3, double: 4, uint64: 5 } as const;

const NOTHING: AskedOutputs = [];

const FINAL_RESPONSE = 'triton_final_response';

/** One message of the stream. */
export interface StreamAnswer {
  /** The server's text, when the request failed. */
  readonly error: string | undefined;
  /** False when the server says that more answers to the same request follow: a decoupled model. */
  readonly final: boolean;
  readonly result: InferResult;
}

/**
 * Reads the frame of a ModelStreamInferResponse: enough to tell success from failure and the last answer from others.
 * The rest is read when it is asked for.
 *
 * @param asked - of the request that it answers
 * @throws TritonError `TRITON_MALFORMED_RESPONSE`
 */
export function decodeStreamAnswer(message: Buffer, asked: AskedOutputs = NOTHING): StreamAnswer {
  return guarded(() => {
    let error: string | undefined;
    let start = 0;
    let end = 0;
    let final = true;
    for (const reader = new WireReader(message); !reader.done; ) {
      const tag = reader.varint();
      if (tag === StreamResponse.errorMessage * 8 + WireType.bytes) {
        error = reader.string();
      } else if (tag === StreamResponse.inferResponse * 8 + WireType.bytes) {
        const length = reader.varint();
        start = reader.offset;
        end = start + length;
        reader.advance(length);
        final = isFinal(new WireReader(message, start, end));
      } else {
        reader.skip(tag % 8);
      }
    }
    return { error: error === '' ? undefined : error, final, result: new MessageResult(message, start, end, asked) };
  });
}

/** A ModelInferResponse by itself, as a unary call gets it. @throws TritonError `TRITON_MALFORMED_RESPONSE` */
export function decodeUnaryAnswer(message: Buffer, asked: AskedOutputs): InferResult {
  return guarded(() => {
    isFinal(new WireReader(message));
    return new MessageResult(message, 0, message.length, asked);
  });
}

/**
 * Whether an error on a stream was found before the model ran. Seen on 2.48 and 2.51: the answer then has the id
 * alone, and each one that comes from a model, its errors too, names the model and says whether it is the last one.
 */
export function refusedUnrun(result: InferResult): boolean {
  return result.model === '' && !(FINAL_RESPONSE in result.parameters);
}

function isFinal(reader: WireReader): boolean {
  let final = true;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === Response.parameters * 8 + WireType.bytes) {
      const [key, value] = readEntry(reader.message());
      if (key === FINAL_RESPONSE) final = value !== false;
    } else {
      reader.skip(tag % 8);
    }
  }
  return final;
}

/** A ModelInferResponse within `message`. */
class MessageResult extends LazyResult {
  readonly #message: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly #asked: AskedOutputs;

  constructor(message: Buffer, start: number, end: number, asked: AskedOutputs) {
    super();
    this.#message = message;
    this.#start = start;
    this.#end = end;
    this.#asked = asked;
  }

  protected read(): InferResultFields {
    return guarded(() => readResponse(new WireReader(this.#message, this.#start, this.#end), this.#asked));
  }
}

function readResponse(reader: WireReader, asked: AskedOutputs): InferResultFields {
  const raw: Buffer[] = [];
  const heads: OutputHead[] = [];
  const parameters: [string, ParameterValue][] = [];
  let [model, version, id] = ['', '', ''];
  while (!reader.done) {
    const tag = reader.varint();
    const field = tag % 8 === WireType.bytes ? Math.floor(tag / 8) : 0;
    if (field === Response.modelName) model = reader.string();
    else if (field === Response.modelVersion) version = reader.string();
    else if (field === Response.id) id = reader.string();
    else if (field === Response.parameters) {
      const [key, value] = readEntry(reader.message());
      if (value !== undefined) parameters.push([key, value]);
    } else if (field === Response.outputs) heads.push(readOutput(reader.message()));
    else if (field === Response.rawOutput) raw.push(reader.bytes());
    else reader.skip(tag % 8);
  }
  if (raw.length !== 0 && raw.length !== heads.length) {
    throw new WireError(`${heads.length} outputs came with ${raw.length} contents`);
  }
  const outputs = heads.map(
    (head, index) => new LazyOutput(head, raw[index] ?? Buffer.alloc(0), placeOf(asked, id, head.name)),
  );
  // fromEntries defines own properties, whatever the names are.
  // Frozen, since answers that repeat share it.
  return {
    model,
    version,
    id,
    outputs: Object.freeze(outputs),
    parameters: Object.freeze(Object.fromEntries(parameters)),
  };
}

function readOutput(reader: WireReader): OutputHead {
  const shape: number[] = [];
  let name = '';
  let datatype = '';
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === Output.name * 8 + WireType.bytes) name = reader.string();
    else if (tag === Output.datatype * 8 + WireType.bytes) datatype = reader.string();
    else if (tag === Output.shape * 8 + WireType.bytes) {
      for (const packed = reader.message(); !packed.done; ) shape.push(packed.varint());
    } else if (tag === Output.shape * 8 + WireType.varint) shape.push(reader.varint());
    else reader.skip(tag % 8);
  }
  if (!isDatatype(datatype)) throw new WireError(`output '${name}' has the datatype '${datatype}'`);
  return { name, datatype, shape };
}

function readEntry(reader: WireReader): [string, ParameterValue | undefined] {
  let key = '';
  let value: ParameterValue | undefined;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === MapEntry.key * 8 + WireType.bytes) key = reader.string();
    else if (tag === MapEntry.value * 8 + WireType.bytes) value = readParameter(reader.message());
    else reader.skip(tag % 8);
  }
  return [key, value];
}

/** 64-bit integers are numbers while these are exact, else bigint. */
function readParameter(reader: WireReader): ParameterValue | undefined {
  let value: ParameterValue | undefined;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === Parameter.bool * 8 + WireType.varint) value = reader.varint() !== 0;
    else if (tag === Parameter.int64 * 8 + WireType.varint) value = exactOrBig(reader.int64());
    else if (tag === Parameter.uint64 * 8 + WireType.varint) value = exactOrBig(BigInt.asUintN(64, reader.int64()));
    else if (tag === Parameter.string * 8 + WireType.bytes) value = reader.string();
    else if (tag === Parameter.double * 8 + WireType.fixed64) value = reader.double();
    else reader.skip(tag % 8);
  }
  return value;
}

function exactOrBig(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function guarded<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) throw malformedAnswer(error.message, error);
    throw error;
  }
}
