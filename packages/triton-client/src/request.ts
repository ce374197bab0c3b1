import { fieldsOf, integer, nonEmpty, object, onlyFields, rangeError, typeError } from './check.js';
import { checkDatatype, elementByteLength } from './datatype.js';
import { elementCount } from './tensor.js';
import type {
  Datatype,
  InferRequest,
  OutputRequest,
  ParameterValue,
  RegionRef,
  RegionTensor,
  SequenceControl,
  Tensor,
} from './types/request.js';
import { checkByteLength, checkByteOffset, checkRegionName } from './unsafe.js';

/** What a request is called where it is spoken of. */
export interface RequestNames {
  readonly model: string;
  readonly id: string;
}

export interface CheckedInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** The tensor's bytes; absent when it lies in `region`. */
  readonly data?: Uint8Array;
  readonly region?: RegionRef;
}

/** Neither `region` nor `classification`: the tensor, in the message. */
export interface CheckedOutput {
  readonly name: string;
  readonly region?: RegionRef;
  readonly classification?: number;
}

/** A request that every server may be given, in a form that both transports encode. */
export interface CheckedRequest extends RequestNames {
  readonly version: string;
  readonly inputs: readonly CheckedInput[];
  /** Empty: every output, in the message. */
  readonly outputs: readonly CheckedOutput[];
  /** The user's, and those that stand for sequence, priority and queue timeout. Numbers and bigints are checked. */
  readonly parameters: readonly (readonly [string, ParameterValue])[];
  /** An input or output lies in a region, so memory of ours stays in use until the server is done. */
  readonly namesRegion: boolean;
  /** Every output goes to a region, so that answers carry no tensor. */
  readonly outputsInRegions: boolean;
  /** The bytes of the tensors that travel in the message. */
  readonly tensorByteLength: number;
  /** The outputs that are asked for by their classes. */
  readonly classified: readonly string[];
}

/** They mean something to the server and have fields of their own here, or would change what the answer looks like. */
const OWN_FIELDS: ReadonlyMap<string, string> = new Map([
  ['priority', 'priority'],
  ['timeout', 'queueTimeoutUs'],
  ['sequence_id', 'sequence'],
  ['sequence_start', 'sequence'],
  ['sequence_end', 'sequence'],
  ['binary_data_output', 'outputs'],
  ['headers', 'the option headers of the call'],
]);
/** Longer ones are refused by the server with UNIMPLEMENTED. */
const MAX_SEQUENCE_TEXT = 128;
const MAX_INT64 = 0x7fff_ffff_ffff_ffffn;

const NONE: readonly string[] = [];
const REQUEST_FIELDS = fieldsOf<InferRequest>({
  inputs: true,
  outputs: true,
  id: true,
  version: true,
  sequence: true,
  priority: true,
  queueTimeoutUs: true,
  parameters: true,
});
const SEQUENCE_FIELDS = fieldsOf<SequenceControl>({ id: true, start: true, end: true });
const OUTPUT_FIELDS: ReadonlySet<string> = new Set(['region', 'byteOffset', 'byteLength', 'classification']);

/** @throws TypeError or RangeError when something in it can never be accepted; the text names it */
export function checkRequest(model: string, request: InferRequest): CheckedRequest {
  onlyFields(object(request, 'request'), 'request', REQUEST_FIELDS);
  object(request.inputs, 'inputs');
  if (request.outputs !== undefined) object(request.outputs, 'outputs');
  let namesRegion = false;
  let tensorByteLength = 0;
  const inputs: CheckedInput[] = [];
  for (const name of Object.keys(request.inputs)) {
    const input = checkInput(name, request.inputs[name] as Tensor | RegionTensor);
    if (input.data === undefined) namesRegion = true;
    else tensorByteLength += input.data.byteLength;
    inputs.push(input);
  }
  const outputs: CheckedOutput[] = [];
  let classified = NONE;
  for (const name of Object.keys(request.outputs ?? {})) {
    const output = checkOutput(name, request.outputs?.[name] as OutputRequest);
    if (output.region !== undefined) namesRegion = true;
    if (output.classification !== undefined) classified = [...classified, name];
    outputs.push(output);
  }
  return {
    model: nonEmpty(model, 'model'),
    version: text(request.version, 'version'),
    id: text(request.id, 'id'),
    inputs,
    outputs,
    parameters: checkParameters(request),
    namesRegion,
    // Without a list of outputs the server sends all of them in the message.
    outputsInRegions: outputs.length > 0 && outputs.every(({ region }) => region !== undefined),
    tensorByteLength,
    classified,
  };
}

function text(value: string | undefined, name: string): string {
  if (value !== undefined && typeof value !== 'string') throw typeError('string', name, value);
  return value ?? '';
}

function checkInput(name: string, input: Tensor | RegionTensor): CheckedInput {
  nonEmpty(name, 'input name');
  if (typeof input !== 'object' || input === null || Array.isArray(input) || ArrayBuffer.isView(input)) {
    throw typeError('tensor(datatype, shape, data) or region(name, …)', `input '${name}'`, input);
  }
  const { datatype, shape } = input;
  const size = elementByteLength(checkDatatype(datatype));
  const count = elementCount(shape);
  let byteLength: number;
  if ('region' in input) {
    checkRegion(name, input);
    byteLength = input.byteLength;
  } else {
    if (!(input.data instanceof Uint8Array)) throw typeError('Uint8Array', `data of input '${name}'`, input.data);
    byteLength = input.data.byteLength;
  }
  if (size !== undefined && byteLength !== count * size) {
    const expected = `${count * size} bytes (${datatype} [${shape.join(', ')}])`;
    throw rangeError(expected, `the size of input '${name}'`, byteLength);
  }
  return 'region' in input ? { name, datatype, shape, region: input } : { name, datatype, shape, data: input.data };
}

function checkOutput(name: string, output: OutputRequest): CheckedOutput {
  nonEmpty(name, 'output name');
  if (typeof output !== 'object' || output === null) throw typeError('object', `output '${name}'`, output);
  if ('region' in output) {
    const ref = output as RegionRef;
    checkRegion(name, ref);
    // Triton refuses both on one output.
    if ('classification' in output) throw typeError('a region or a classification', `output '${name}'`, output);
    return { name, region: ref };
  }
  onlyFields(output, `output '${name}'`, OUTPUT_FIELDS);
  if (!('classification' in output)) return { name };
  return { name, classification: integer(output.classification, `classification of '${name}'`, 1) };
}

function checkRegion(name: string, ref: RegionRef): void {
  checkRegionName(ref.region, `region of '${name}'`);
  checkByteOffset(ref.byteOffset, `byteOffset of '${name}'`);
  checkByteLength(ref.byteLength, `byteLength of '${name}'`);
}

function checkParameters(request: InferRequest): CheckedRequest['parameters'] {
  const list: [string, ParameterValue][] = [];
  for (const [key, value] of Object.entries(
    request.parameters === undefined ? {} : object(request.parameters, 'parameters'),
  )) {
    const field = OWN_FIELDS.get(key);
    if (field !== undefined) throw typeError(`the field ${field} of the request instead`, `parameters.${key}`, value);
    if (key.startsWith('triton_')) throw rangeError("a name without the server's prefix", 'parameter', key);
    list.push([nonEmpty(key, 'parameter name'), checkValue(key, value)]);
  }
  if (request.sequence !== undefined) list.push(...sequenceParameters(request.sequence));
  if (request.priority !== undefined) list.push(['priority', integer(request.priority, 'priority', 0)]);
  if (request.queueTimeoutUs !== undefined) {
    list.push(['timeout', integer(request.queueTimeoutUs, 'queueTimeoutUs', 1)]);
  }
  return list;
}

function checkValue(key: string, value: ParameterValue): ParameterValue {
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) {
    throw rangeError('a 64-bit integer', `parameters.${key}`, value);
  }
  if (!['boolean', 'string', 'number', 'bigint'].includes(typeof value)) {
    throw typeError('boolean, number, bigint or string', `parameters.${key}`, value);
  }
  return value;
}

function sequenceParameters(sequence: SequenceControl): [string, ParameterValue][] {
  const { id, start, end } = object(sequence, 'sequence');
  onlyFields(sequence, 'sequence', SEQUENCE_FIELDS);
  const list: [string, ParameterValue][] = [['sequence_id', sequenceId(id)]];
  for (const [key, value] of [
    ['start', start],
    ['end', end],
  ] as const) {
    if (value === undefined) continue;
    if (typeof value !== 'boolean') throw typeError('boolean', `sequence.${key}`, value);
    if (value) list.push([`sequence_${key}`, true]);
  }
  return list;
}

/** 0 and '' mean "no sequence" to the server, and it takes a negative number for 2^64 less. */
function sequenceId(id: SequenceControl['id']): ParameterValue {
  if (typeof id === 'string') {
    if (nonEmpty(id, 'sequence.id').length > MAX_SEQUENCE_TEXT) {
      throw rangeError(`at most ${MAX_SEQUENCE_TEXT} characters`, 'sequence.id', id);
    }
    return id;
  }
  if (typeof id !== 'bigint') return integer(id, 'sequence.id', 1);
  if (id < 1n || id > MAX_INT64) throw rangeError('a whole number from 1 to 2^63 - 1', 'sequence.id', id);
  return id;
}
