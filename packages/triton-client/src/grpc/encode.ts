import { rangeError } from '../check.js';
import type { CheckedInput, CheckedOutput, CheckedRequest, RequestNames } from '../request.js';
import type { ParameterValue, RegionRef } from '../types/request.js';
import type { RepeatedAnswers } from './repeated-answers.js';
import { varintLength, WireType, WireWriter } from './wire.js';

/** A ModelInferRequest as it goes over the wire, and what the client must know of it. */
export interface EncodedRequest extends RequestNames {
  readonly bytes: Buffer;
  readonly namesRegion: boolean;
  readonly outputs: readonly CheckedOutput[];
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

// Encoding is synchronous, so one writer serves all of it.
const writer = new WireWriter();

/**
 * Encodes a request, tensors of the message included, into one buffer: the generated codec would copy each tensor
 * twice more.
 *
 * @throws RangeError when the message would exceed 2 GiB
 */
export function encodeRequest(request: CheckedRequest): EncodedRequest {
  const { model, version, id, namesRegion } = request;
  const raw: Uint8Array[] = [];
  writer.reset();
  writer.string(Request.modelName, model);
  if (version !== '') writer.string(Request.modelVersion, version);
  if (id !== '') writer.string(Request.id, id);
  for (const [key, value] of request.parameters) writeEntry(Request.parameters, key, () => writeValue(value));
  for (const input of request.inputs) {
    if (input.data !== undefined) raw.push(input.data);
    writer.message(Request.inputs, () => writeInput(input));
  }
  for (const output of request.outputs) writer.message(Request.outputs, () => writeOutput(output));
  return { bytes: join(raw), model, id, namesRegion, outputs: request.outputs };
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

function writeInput({ name, datatype, shape, region }: CheckedInput): void {
  writer.string(Input.name, name);
  writer.string(Input.datatype, datatype);
  if (shape.length > 0) {
    writer.message(Input.shape, () => {
      for (const dimension of shape) writer.varint(dimension);
    });
  }
  if (region !== undefined) writeRegion(Input.parameters, region);
}

function writeOutput({ name, region, classification }: CheckedOutput): void {
  writer.string(Output.name, name);
  if (region !== undefined) writeRegion(Output.parameters, region);
  if (classification !== undefined) writeInteger(Output.parameters, 'classification', classification);
}

function writeRegion(field: number, ref: RegionRef): void {
  writeEntry(field, 'shared_memory_region', () => writer.string(Parameter.string, ref.region));
  writeInteger(field, 'shared_memory_byte_size', ref.byteLength);
  if (ref.byteOffset > 0) writeInteger(field, 'shared_memory_offset', ref.byteOffset);
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
function writeValue(value: ParameterValue): void {
  if (typeof value === 'boolean') {
    writer.tag(Parameter.bool, WireType.varint);
    writer.varint(value ? 1 : 0);
  } else if (typeof value === 'string') {
    writer.string(Parameter.string, value);
  } else if (typeof value === 'bigint' || Number.isSafeInteger(value)) {
    writer.tag(Parameter.int64, WireType.varint);
    writer.int64(BigInt(value));
  } else {
    writer.tag(Parameter.double, WireType.fixed64);
    writer.double(value);
  }
}
