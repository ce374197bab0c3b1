import { integer, nonEmpty, rangeError, typeError } from './check.js';
import { checkDatatype, elementByteLength } from './datatype.js';
import type { RepeatedAnswers } from './repeated-answers.js';
import { elementCount } from './tensor.js';
import type { InferRequest, OutputRequest, ParameterValue, RegionRef, RegionTensor, Tensor } from './types.js';
import { varintLength, WireType, WireWriter } from './wire.js';

/** A ModelInferRequest as it goes over the wire, and what the client must know of it. */
export interface EncodedRequest {
  readonly bytes: Buffer;
  readonly model: string;
  readonly id: string;
  /** An input or output lies in a region, so memory of ours stays in use until the server is done. */
  readonly namesRegion: boolean;
  /** Every output goes to a region, so that answers carry no tensor. */
  readonly outputsInRegions: boolean;
  /** For requests that are sent again and again. */
  readonly answers?: RepeatedAnswers;
}

/** Field numbers of the protocol; grpc_service.proto has them in full. */
const Request = { modelName: 1, modelVersion: 2, id: 3, parameters: 4, inputs: 5, outputs: 6, rawInput: 7 } as const;
const Input = { name: 1, datatype: 2, shape: 3, parameters: 4 } as const;
const Output = { name: 1, parameters: 2 } as const;
const MapEntry = { key: 1, value: 2 } as const;
const Parameter = { bool: 1, int64: 2, string: 3, double: 4 } as const;

/** gRPC counts a message in 32 bits, and Triton's own limit is the largest int32. */
const MAX_MESSAGE_BYTES = 0x7fff_ffff;
/** They mean something to the server and have fields of their own here. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['priority', 'timeout']);

// Encoding is synchronous, so one writer serves all of it.
const writer = new WireWriter();

/**
 * Encodes a request, tensors of the message included, into one buffer: the generated codec would copy each tensor
 * twice more.
 *
 * @throws TypeError or RangeError when something in it can never be accepted; the text names it
 */
export function encodeRequest(model: string, request: InferRequest): EncodedRequest {
  const id = request.id ?? '';
  const raw: Uint8Array[] = [];
  let namesRegion = false;
  writer.reset();
  writer.string(Request.modelName, nonEmpty(model, 'model'));
  if (request.version !== undefined && request.version !== '') writer.string(Request.modelVersion, request.version);
  if (id !== '') writer.string(Request.id, id);
  writeParameters(request);
  for (const [name, input] of Object.entries(request.inputs)) {
    checkInput(name, input);
    if ('region' in input) namesRegion = true;
    else raw.push(input.data);
    writer.message(Request.inputs, () => writeInput(name, input));
  }
  const outputs = Object.entries(request.outputs ?? {});
  // Without a list of outputs the server sends all of them in the message.
  let outputsInRegions = outputs.length > 0;
  for (const [name, output] of outputs) {
    nonEmpty(name, 'output name');
    if ('region' in output) namesRegion = true;
    else outputsInRegions = false;
    writer.message(Request.outputs, () => writeOutput(name, output));
  }
  return { bytes: join(raw), model, id, namesRegion, outputsInRegions };
}

/** What was written, followed by the tensors' bytes. */
function join(raw: readonly Uint8Array[]): Buffer {
  const rawLength = raw.reduce((sum, data) => sum + 1 + varintLength(data.byteLength) + data.byteLength, 0);
  const total = writer.byteLength + rawLength;
  if (total > MAX_MESSAGE_BYTES) {
    throw rangeError('at most 2147483647 bytes, shared memory for more,', 'the size of the message', total);
  }
  const message = Buffer.allocUnsafe(total);
  let offset = writer.byteLength;
  writer.copyTo(message);
  for (const data of raw) {
    writer.reset();
    writer.tag(Request.rawInput, WireType.bytes);
    writer.varint(data.byteLength);
    writer.copyTo(message.subarray(offset));
    offset += writer.byteLength;
    message.set(data, offset);
    offset += data.byteLength;
  }
  return message;
}

function checkInput(name: string, input: Tensor | RegionTensor): void {
  nonEmpty(name, 'input name');
  const size = elementByteLength(checkDatatype(input.datatype));
  const count = elementCount(input.shape);
  let byteLength: number;
  if ('region' in input) {
    checkRegion(name, input);
    byteLength = input.byteLength;
  } else {
    if (!(input.data instanceof Uint8Array)) throw typeError('Uint8Array', `data of input '${name}'`, input.data);
    byteLength = input.data.byteLength;
  }
  if (size !== undefined && byteLength !== count * size) {
    const shape = `${input.datatype} [${input.shape.join(', ')}]`;
    throw rangeError(`${count * size} bytes (${shape})`, `the size of input '${name}'`, byteLength);
  }
}

function checkRegion(name: string, ref: RegionRef): void {
  nonEmpty(ref.region, `region of '${name}'`);
  integer(ref.byteOffset, `byteOffset of '${name}'`, 0);
  integer(ref.byteLength, `byteLength of '${name}'`, 1);
}

function writeInput(name: string, input: Tensor | RegionTensor): void {
  writer.string(Input.name, name);
  writer.string(Input.datatype, input.datatype);
  if (input.shape.length > 0) {
    writer.message(Input.shape, () => {
      for (const dimension of input.shape) writer.varint(dimension);
    });
  }
  if ('region' in input) writeRegion(Input.parameters, input);
}

function writeOutput(name: string, output: OutputRequest): void {
  writer.string(Output.name, name);
  if ('region' in output) {
    checkRegion(name, output as RegionRef);
    // Triton refuses both on one output.
    if ('classification' in output) throw typeError('a region or a classification', `output '${name}'`, output);
    writeRegion(Output.parameters, output as RegionRef);
  } else if ('classification' in output) {
    const top = integer(output.classification, `classification of '${name}'`, 1);
    writeInteger(Output.parameters, 'classification', top);
  }
}

function writeRegion(field: number, ref: RegionRef): void {
  writeEntry(field, 'shared_memory_region', () => writer.string(Parameter.string, ref.region));
  writeInteger(field, 'shared_memory_byte_size', ref.byteLength);
  if (ref.byteOffset > 0) writeInteger(field, 'shared_memory_offset', ref.byteOffset);
}

function writeParameters(request: InferRequest): void {
  for (const [key, value] of Object.entries(request.parameters ?? {})) {
    if (OWN_FIELDS.has(key)) throw typeError('the field of the request instead', `parameters.${key}`, value);
    if (key.startsWith('triton_')) throw rangeError("a name without the server's prefix", 'parameter', key);
    writeEntry(Request.parameters, nonEmpty(key, 'parameter name'), () => writeValue(key, value));
  }
  if (request.priority !== undefined) {
    writeInteger(Request.parameters, 'priority', integer(request.priority, 'priority', 0));
  }
  if (request.queueTimeoutUs !== undefined) {
    writeInteger(Request.parameters, 'timeout', integer(request.queueTimeoutUs, 'queueTimeoutUs', 1));
  }
}

function writeEntry(field: number, key: string, value: () => void): void {
  writer.message(field, () => {
    writer.string(MapEntry.key, key);
    writer.message(MapEntry.value, value);
  });
}

function writeInteger(field: number, key: string, value: number): void {
  writeEntry(field, key, () => {
    writer.tag(Parameter.int64, WireType.varint);
    writer.varint(value);
  });
}

/** Whole numbers go as int64, others as double. */
function writeValue(key: string, value: ParameterValue): void {
  if (typeof value === 'boolean') {
    writer.tag(Parameter.bool, WireType.varint);
    writer.varint(value ? 1 : 0);
  } else if (typeof value === 'string') {
    writer.string(Parameter.string, value);
  } else if (typeof value === 'bigint' || Number.isSafeInteger(value)) {
    const integral = BigInt(value);
    if (BigInt.asIntN(64, integral) !== integral) throw rangeError('a 64-bit integer', `parameters.${key}`, value);
    writer.tag(Parameter.int64, WireType.varint);
    writer.int64(integral);
  } else if (typeof value === 'number') {
    writer.tag(Parameter.double, WireType.fixed64);
    writer.double(value);
  } else {
    throw typeError('boolean, number, bigint or string', `parameters.${key}`, value);
  }
}
