import { elementByteLength, isDatatype, viewOf } from './datatype.js';
import { TritonError } from './errors.js';
import { splitBytes } from './tensor.js';
import type { Datatype, InferOutput, InferResult, ParameterValue } from './types.js';
import { WireError, WireReader, WireType } from './wire.js';

/** Field numbers of the protocol; grpc_service.proto has them in full. */
const StreamResponse = { errorMessage: 1, inferResponse: 2 } as const;
const Response = { modelName: 1, modelVersion: 2, id: 3, parameters: 4, outputs: 5, rawOutput: 6 } as const;
const Output = { name: 1, datatype: 2, shape: 3 } as const;
const MapEntry = { key: 1, value: 2 } as const;
const Parameter = { bool: 1, int64: 2, string: 3, double: 4, uint64: 5 } as const;

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
 * @throws TritonError `TRITON_MALFORMED_RESPONSE`
 */
export function decodeStreamAnswer(message: Buffer): StreamAnswer {
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
    return { error: error === '' ? undefined : error, final, result: new LazyResult(message, start, end) };
  });
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

interface Decoded {
  model: string;
  version: string;
  id: string;
  parameters: Readonly<Record<string, ParameterValue>>;
  outputs: readonly InferOutput[];
}

/** A ModelInferResponse within `message`, decoded at the first look. */
class LazyResult implements InferResult {
  readonly #message: Buffer;
  readonly #start: number;
  readonly #end: number;
  #decoded: Decoded | undefined;

  constructor(message: Buffer, start: number, end: number) {
    this.#message = message;
    this.#start = start;
    this.#end = end;
  }

  get model(): string {
    return this.#fields().model;
  }

  get version(): string {
    return this.#fields().version;
  }

  get id(): string {
    return this.#fields().id;
  }

  get parameters(): Readonly<Record<string, ParameterValue>> {
    return this.#fields().parameters;
  }

  get outputs(): readonly InferOutput[] {
    return this.#fields().outputs;
  }

  output(name: string): InferOutput {
    const { outputs, model } = this.#fields();
    const found = outputs.find((output) => output.name === name);
    if (found !== undefined) return found;
    const names = outputs.map((output) => `'${output.name}'`).join(', ') || 'none';
    throw new RangeError(`The answer of model '${model}' has no output '${name}'; its outputs: ${names}`);
  }

  #fields(): Decoded {
    this.#decoded ??= guarded(() => readResponse(new WireReader(this.#message, this.#start, this.#end)));
    return this.#decoded;
  }
}

function readResponse(reader: WireReader): Decoded {
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
  const outputs = heads.map((head, index) => new LazyOutput(head, raw[index] ?? Buffer.alloc(0)));
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

interface OutputHead {
  name: string;
  datatype: Datatype;
  shape: number[];
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

class LazyOutput implements InferOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;

  constructor(head: OutputHead, bytes: Buffer) {
    this.name = head.name;
    this.datatype = head.datatype;
    this.shape = Object.freeze(head.shape);
    this.bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get data(): InferOutput['data'] {
    if (this.datatype === 'BYTES') throw new TypeError(`Output '${this.name}' is BYTES: read it by strings() or bytes`);
    const expected = this.#count() * (elementByteLength(this.datatype) ?? 0);
    if (this.bytes.byteLength !== expected) {
      // Some backends answer with no bytes and no error (Python backend under numpy 2).
      throw malformed(
        `${this.#label()} needs ${expected} bytes and the answer carries ${this.bytes.byteLength}; ` +
          'its bytes are in the region that the request named, or the model gave none',
      );
    }
    return viewOf(this.datatype, this.bytes);
  }

  strings(): string[] {
    if (this.datatype !== 'BYTES') throw new TypeError(`${this.#label()} is not BYTES: read it by data`);
    const elements = splitBytes(this.bytes);
    if (elements === undefined || elements.length !== this.#count()) {
      throw malformed(`${this.#label()} does not hold ${this.#count()} elements`);
    }
    return elements.map((element) => Buffer.from(element.buffer, element.byteOffset, element.byteLength).toString());
  }

  #count(): number {
    return this.shape.reduce((count, dimension) => count * dimension, 1);
  }

  #label(): string {
    return `output '${this.name}' (${this.datatype} [${this.shape.join(', ')}])`;
  }
}

function malformed(details: string, cause?: unknown): TritonError {
  return new TritonError(`The answer to ModelInfer cannot be read: ${details}`, {
    code: 'TRITON_MALFORMED_RESPONSE',
    method: 'ModelInfer',
    details,
    cause,
  });
}

function guarded<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) throw malformed(error.message, error);
    throw error;
  }
}
