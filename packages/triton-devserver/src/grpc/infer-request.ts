import { refuseTwice } from '../core/checks.js';
import type { InferenceRequest, RequestedOutput, RequestInput } from '../core/inference.js';
import type { Regions, RegionUse } from '../core/regions.js';
import { isDatatype } from '../datatype.js';
import type { ParameterValue } from '../model.js';
import { invalid, unsupported } from '../status.js';
import { contentsBytes } from './contents.js';
import type { InferParameter, ModelInferRequest } from './gen/grpc_service.js';

/** Reads a ModelInferRequest in the order, and refuses it in the words, of the real server's front end. */

interface Given {
  readonly regions: Regions;
  /** Headers that are handed to the model as parameters. */
  readonly forwarded: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

const EMPTY_FINAL = 'triton_enable_empty_final_response';
const LONGEST_ID = 128;
const UINT64 = 64;

type Options = Pick<InferenceRequest, 'parameters' | 'sequence' | 'priority' | 'timeoutUs'>;

/** Whether the request asks for an answer that says nothing but that it is the last. */
export const wantsEmptyFinal = (message: ModelInferRequest): boolean =>
  message.parameters[EMPTY_FINAL]?.bool_param === true;

/** @throws ServerError; references to regions are then given back */
export function readInfer(message: ModelInferRequest, { regions, forwarded, signal }: Given): InferenceRequest {
  const { id, model_name: model, model_version: version } = message;
  const options = readOptions(message.parameters, forwarded);
  refuseTwice(
    id,
    message.inputs.map(({ name }) => name),
  );
  const uses: RegionUse[] = [];
  try {
    const inputs = readInputs(message, regions, uses);
    const outputs = readOutputs(message, regions, uses);
    return { id, model, version, inputs, outputs, ...options, signal };
  } catch (error) {
    for (const use of uses) use.release();
    throw error;
  }
}

function readOptions(parameters: ModelInferRequest['parameters'], forwarded: Given['forwarded']): Options {
  const own: Record<string, ParameterValue> = {};
  let sequenceId: bigint | string = 0n;
  let start = false;
  let end = false;
  let priority = 0n;
  let timeoutUs = 0n;
  for (const [name, value] of Object.entries(parameters)) {
    switch (name) {
      case 'sequence_id':
        sequenceId = sequenceIdOf(value);
        break;
      case 'sequence_start':
        start = booleanOf(name, value);
        break;
      case 'sequence_end':
        end = booleanOf(name, value);
        break;
      case 'priority':
        priority = priorityOf(value);
        break;
      case 'timeout':
        if (value.int64_param === undefined) throw wrongType('timeout', 'int64_param');
        timeoutUs = BigInt.asUintN(UINT64, value.int64_param);
        break;
      default:
        if (name.startsWith('triton_')) {
          if (name !== EMPTY_FINAL) {
            throw invalid(
              `parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: ${EMPTY_FINAL}`,
            );
          }
          booleanOf(name, value);
        } else {
          own[name] = customOf(name, value);
        }
    }
  }
  return { parameters: { ...own, ...forwarded }, sequence: { id: sequenceId, start, end }, priority, timeoutUs };
}

const wrongType = (name: string, expected: string) =>
  invalid(`invalid value type for '${name}' parameter, expected ${expected}.`);

function booleanOf(name: string, value: InferParameter): boolean {
  if (value.bool_param === undefined) throw wrongType(name, 'bool_param');
  return value.bool_param;
}

function sequenceIdOf({ int64_param: number, string_param: text }: InferParameter): bigint | string {
  if (number !== undefined) return BigInt.asUintN(UINT64, number);
  if (text === undefined) throw wrongType('sequence_id', 'int64_param or string_param');
  if (text.length > LONGEST_ID) {
    throw unsupported(`string correlation ID cannot be longer than ${LONGEST_ID} characters`);
  }
  return text;
}

function priorityOf({ int64_param: signed, uint64_param: unsigned }: InferParameter): bigint {
  if (unsigned !== undefined) return unsigned;
  if (signed === undefined) throw wrongType('priority', 'int64_param or uint64_param');
  if (signed < 0n) throw invalid("invalid value for 'priority', expected value >= 0.");
  return signed;
}

/** The text leaves doubles out, which are taken all the same. */
function customOf(name: string, value: InferParameter): ParameterValue {
  const known = value.bool_param ?? value.int64_param ?? value.string_param ?? value.double_param;
  if (known === undefined) throw wrongType(name, 'int64_param, bool_param, or string_param');
  return known;
}

function readInputs(message: ModelInferRequest, regions: Regions, uses: RegionUse[]): RequestInput[] {
  const { model_name: model, raw_input_contents: raw } = message;
  let next = 0;
  return message.inputs.map((input): RequestInput => {
    const { name, datatype, contents } = input;
    const known = isDatatype(datatype) ? datatype : undefined;
    const shape = input.shape.map(Number);
    const extent = extentOf(name, input.parameters);
    if (extent !== undefined) {
      if (contents !== undefined) {
        throw invalid(
          `unexpected 'content' provided when using shared memory for input tensor '${name}' for model '${model}'`,
        );
      }
      const region = regions.use(extent.region, extent.offset, extent.byteLength);
      uses.push(region);
      return { name, datatype: known, shape, source: { region } };
    }
    if (contents !== undefined) {
      if (raw.length > 0) {
        throw invalid(
          `contents field must not be specified when using raw_input_contents for '${name}' for model '${model}'`,
        );
      }
      return {
        name,
        datatype: known,
        shape,
        source: { bytes: contentsBytes(name, model, known ?? '<invalid>', contents) },
      };
    }
    const bytes = raw[next];
    if (bytes === undefined) {
      throw invalid(`unable to find data for input tensor '${name}' for model '${model}' in request.`);
    }
    next += 1;
    return { name, datatype: known, shape, source: { bytes } };
  });
}

/**
 * Of an output that is named several times the first region counts and the first number of classes, together if it has
 * both, and the regions of all have to be there (seen on 2.51 and 2.48).
 */
function readOutputs(message: ModelInferRequest, regions: Regions, uses: RegionUse[]): RequestedOutput[] {
  const outputs = new Map<string, RequestedOutput>();
  for (const { name, parameters } of message.outputs) {
    const extent = extentOf(name, parameters);
    const classification = classificationOf(parameters.classification);
    if (extent !== undefined && classification !== undefined) {
      throw invalid("output can't set both 'shared_memory_region' and 'classification'");
    }
    const region = extent === undefined ? undefined : regions.use(extent.region, extent.offset, extent.byteLength);
    const before = outputs.get(name);
    if (before?.region !== undefined) region?.release();
    else if (region !== undefined) uses.push(region);
    outputs.set(name, {
      name,
      classification: before?.classification ?? classification,
      region: before?.region ?? region,
    });
  }
  return [...outputs.values()];
}

function classificationOf(parameter: InferParameter | undefined): number | undefined {
  if (parameter === undefined) return undefined;
  const count = parameter.int64_param;
  if (count === undefined) throw invalid("invalid value type for 'classification' parameter, expected int64_param");
  if (count <= 0n) throw invalid("invalid value for 'classification' parameter, expected >= 0");
  // A uint32: the high bits are lost, and what is left may be none.
  return Number(BigInt.asUintN(32, count));
}

type Parameters = Record<string, InferParameter>;

function extentOf(tensor: string, parameters: Parameters) {
  const { shared_memory_region: region, shared_memory_offset: offset, shared_memory_byte_size: size } = parameters;
  const mistyped = (name: string, expected: string) =>
    invalid(`invalid value type for '${name}' parameter for tensor '${tensor}', expected ${expected}.`);
  const alone = (name: string) =>
    invalid(`'${name}' can not be specified without 'shared_memory_region' parameter for tensor '${tensor}'`);
  if (region !== undefined && region.string_param === undefined) throw mistyped('shared_memory_region', 'string_param');
  if (offset !== undefined) {
    if (region === undefined) throw alone('shared_memory_offset');
    if (offset.int64_param === undefined) throw mistyped('shared_memory_offset', 'int64_param');
  }
  if (size !== undefined) {
    if (region === undefined) throw alone('shared_memory_byte_size');
    if (size.int64_param === undefined) throw mistyped('shared_memory_byte_size', 'int64_param');
  }
  if (region?.string_param === undefined) return undefined;
  if (size?.int64_param === undefined) {
    throw invalid(
      `'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '${tensor}'`,
    );
  }
  return { region: region.string_param, offset: offset?.int64_param ?? 0n, byteLength: size.int64_param };
}
