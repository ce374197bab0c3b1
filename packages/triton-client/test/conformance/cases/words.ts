import { expect } from 'vitest';
import { codeOfText, withoutRequestId } from '../../../src/error-texts.js';
import { codeOfStatus } from '../../../src/errors.js';
import {
  type InferParameter,
  type ModelInferRequest_InferInputTensor as InputTensor,
  type ModelInferRequest,
  GRPCInferenceServiceService as Service,
} from '../../../src/grpc/gen/grpc_service.js';
import type { TritonErrorCode } from '../../../src/index.js';
import { type CaseScope, type ConformanceCase, refused } from '../case.js';
import type { Context } from '../context.js';
import { difference } from '../differences.js';
import type { RowId } from '../rows.js';
import type { ServerVersion, TransportName } from '../target.js';

/**
 * What servers say of that which the client never sends: the client's refusal is right, and the texts have codes,
 * should they ever come. Nothing that servers die of is among it.
 */

const int64 = (value: bigint): InferParameter => ({ parameterChoice: { $case: 'int64Param', value } });
const text = (value: string): InferParameter => ({ parameterChoice: { $case: 'stringParam', value } });
const bool = (value: boolean): InferParameter => ({ parameterChoice: { $case: 'boolParam', value } });
const uint64 = (value: bigint): InferParameter => ({ parameterChoice: { $case: 'uint64Param', value } });

const UNKNOWN = 'zerohop-conformance-unknown';

const input = (name: string, parameters: InputTensor['parameters'] = {}): InputTensor => ({
  name,
  datatype: 'INT32',
  shape: [1n, 16n],
  parameters,
  contents: undefined,
});
const zeros = () => Buffer.alloc(64);

/** For `add_sub`; both inputs in the message. */
const whole = (change: Partial<ModelInferRequest> = {}): Partial<ModelInferRequest> => ({
  modelName: 'add_sub',
  inputs: [input('INPUT0'), input('INPUT1')],
  rawInputContents: [zeros(), zeros()],
  ...change,
});

const inRegion = (parameters: InputTensor['parameters']): Partial<ModelInferRequest> =>
  whole({ inputs: [input('INPUT0', parameters), input('INPUT1')], rawInputContents: [zeros()] });

interface Words {
  readonly row: RowId;
  readonly title: string;
  readonly code: TritonErrorCode;
  readonly details: string;
  /** The servers that say so; absent: all. */
  readonly versions?: readonly ServerVersion[];
}

const scopeOf = (transport: TransportName, { versions }: Words): CaseScope => ({
  transports: [transport],
  ...(versions === undefined ? {} : { versions }),
});

/** One inference over gRPC: unary and on a stream the words are the same, and the words alone give the status's code. */
function overGrpc(words: Words, request: (context: Context) => Promise<Partial<ModelInferRequest>>): ConformanceCase {
  const run = async (context: Context) => {
    const message = await request(context);
    const unary = await context.raw.infer(message);
    expect(unary.code).not.toBe(0);
    if (!('details' in unary)) return;
    expect(unary.details).toContain(words.details);
    expect(codeOfStatus(unary.code, unary.details)).toBe(words.code);
    const said = await context.raw.streamText(message);
    expect(said).toBe(unary.details);
    expect(codeOfText(withoutRequestId(said))).toBe(words.code);
  };
  return refused(words.row, `the server’s words for ${words.title}`, run, scopeOf('grpc', words));
}

type Method = Parameters<Context['raw']['call']>[0];

/** One call that runs no model, over gRPC. */
function controlOverGrpc(
  words: Words,
  method: unknown,
  request: (context: Context) => Promise<object>,
): ConformanceCase {
  const run = async (context: Context) => {
    const outcome = await context.raw.call(method as Method, await request(context));
    expect(outcome.code).not.toBe(0);
    if (!('details' in outcome)) return;
    expect(outcome.details).toContain(words.details);
    expect(codeOfStatus(outcome.code, outcome.details)).toBe(words.code);
    expect(codeOfText(outcome.details)).toBe(words.code);
  };
  return refused(words.row, `the server’s words for ${words.title}`, run, scopeOf('grpc', words));
}

/** One HTTP request: the words alone give the code. */
function overHttp(
  words: Words & { readonly status: number },
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): ConformanceCase {
  const run = async (context: Context) => {
    const { status, error } = await context.raw.http(method, path, body);
    expect([status, error]).toEqual([words.status, expect.stringContaining(words.details)]);
    expect(codeOfText(withoutRequestId(error))).toBe(words.code);
  };
  return refused(words.row, `the server’s words for ${words.title}`, run, scopeOf('http', words));
}

const INVALID = 'TRITON_INVALID_ARGUMENT';
/** They only notice that no such object is there. */
const OPENS_ANY_KEY: readonly ServerVersion[] = ['2.48', '2.51', '2.53'];
const now =
  <T>(value: T) =>
  (): Promise<T> =>
    Promise.resolve(value);

const jsonInput = (name: string, change: object = {}) => ({
  name,
  datatype: 'INT32',
  shape: [1, 16],
  data: new Array<number>(16).fill(0),
  ...change,
});
const json = (change: object = {}) => ({ inputs: [jsonInput('INPUT0'), jsonInput('INPUT1')], ...change });
const INFER = '/v2/models/add_sub/infer';
const SYSTEM = `/v2/systemsharedmemory/region/${UNKNOWN}`;
const CUDA = `/v2/cudasharedmemory/region/${UNKNOWN}`;

export const wordCases: readonly ConformanceCase[] = [
  overGrpc(
    {
      row: 'infer-region-parameters',
      title: 'a region that is no text',
      code: INVALID,
      details: "'shared_memory_region' parameter for tensor 'INPUT0'",
    },
    now(inRegion({ shared_memory_region: int64(5n), shared_memory_byte_size: int64(64n) })),
  ),
  overGrpc(
    {
      row: 'infer-region-parameters',
      title: 'a region without its size',
      code: INVALID,
      details: "'shared_memory_byte_size' must be specified along with",
    },
    now(inRegion({ shared_memory_region: text(UNKNOWN) })),
  ),
  overGrpc(
    {
      row: 'infer-region-parameters',
      title: 'an offset without a region',
      code: INVALID,
      details: "'shared_memory_offset' can not be specified without",
    },
    now(inRegion({ shared_memory_offset: int64(0n) })),
  ),
  overGrpc(
    {
      row: 'infer-offset-overflow',
      title: 'a size below 0',
      code: INVALID,
      details: 'Invalid offset + byte size for shared memory region',
    },
    async (context) =>
      inRegion({ shared_memory_region: text((await context.block(64)).name), shared_memory_byte_size: int64(-1n) }),
  ),
  overGrpc(
    {
      row: 'shm-tensors',
      title: 'twice the size',
      code: INVALID,
      details: "input byte size mismatch for input 'INPUT0' for model 'add_sub'. Expected 64, got 128",
    },
    async (context) =>
      inRegion({ shared_memory_region: text((await context.block(128)).name), shared_memory_byte_size: int64(128n) }),
  ),
  overGrpc(
    {
      row: 'model-infer',
      title: 'too little data',
      code: INVALID,
      details: "unable to find data for input tensor 'INPUT1' for model 'add_sub' in request.",
    },
    now(whole({ rawInputContents: [zeros()] })),
  ),
  overGrpc(
    {
      row: 'priority',
      title: 'a priority below 0',
      code: INVALID,
      details: "invalid value for 'priority', expected value >= 0.",
    },
    now(whole({ parameters: { priority: int64(-1n) } })),
  ),
  overGrpc(
    {
      row: 'classification',
      title: 'classification by 0',
      code: INVALID,
      details: "invalid value for 'classification' parameter, expected >= 0",
    },
    now(whole({ outputs: [{ name: 'OUTPUT0', parameters: { classification: int64(0n) } }] })),
  ),
  overGrpc(
    {
      row: 'classification',
      title: 'classification into a region',
      code: INVALID,
      details: "output can't set both 'shared_memory_region' and 'classification'",
    },
    async (context) => {
      const { name } = await context.block(64);
      const shared = { shared_memory_region: text(name), shared_memory_byte_size: int64(64n) };
      return whole({ outputs: [{ name: 'OUTPUT0', parameters: { ...shared, classification: int64(1n) } }] });
    },
  ),
  overGrpc(
    {
      row: 'custom-parameters',
      title: 'an unsigned number',
      code: INVALID,
      details: "invalid value type for 'u' parameter",
    },
    now(whole({ parameters: { u: uint64(1n) } })),
  ),
  overGrpc(
    {
      row: 'custom-parameters',
      title: 'a name of the server’s own',
      code: INVALID,
      details: "parameter keys starting with 'triton_' are reserved",
    },
    now(whole({ parameters: { triton_x: int64(1n) } })),
  ),
  overGrpc(
    {
      row: 'sequence-id',
      title: 'an id that is a boolean',
      code: INVALID,
      details: "invalid value type for 'sequence_id' parameter, expected int64_param or string_param.",
    },
    now(whole({ parameters: { sequence_id: bool(true) } })),
  ),
  overGrpc(
    {
      row: 'sequence-id',
      title: 'an id of 129 letters',
      code: 'TRITON_UNIMPLEMENTED',
      details: 'string correlation ID cannot be longer than 128 characters',
    },
    now({
      modelName: 'sequence',
      inputs: [{ ...input('INPUT0'), shape: [1n] }],
      rawInputContents: [Buffer.alloc(4)],
      parameters: { sequence_id: text('x'.repeat(129)), sequence_start: bool(true) },
    }),
  ),
  controlOverGrpc(
    {
      row: 'repository-index',
      title: 'the name of a repository',
      code: 'TRITON_UNIMPLEMENTED',
      details: "'repository_name' specification is not supported",
    },
    Service.repositoryIndex,
    now({ repositoryName: 'x', ready: false }),
  ),
  controlOverGrpc(
    {
      row: 'model-load',
      title: 'a parameter that there is not',
      code: INVALID,
      details: "unrecognized load parameter 'foo'.",
    },
    Service.repositoryModelLoad,
    now({ repositoryName: '', modelName: 'identity_64', parameters: { foo: text('x') } }),
  ),
  controlOverGrpc(
    {
      row: 'model-load',
      title: 'a configuration that is no text',
      code: INVALID,
      details: "invalid value type for load parameter 'config', expected string_param.",
    },
    Service.repositoryModelLoad,
    now({ repositoryName: '', modelName: 'identity_64', parameters: { config: int64(1n) } }),
  ),
  controlOverGrpc(
    {
      row: 'model-unload',
      title: 'unload_dependents that is no boolean',
      code: INVALID,
      details: "invalid value type for 'unload_dependents' parameter, expected bool_param.",
    },
    Service.repositoryModelUnload,
    now({ repositoryName: '', modelName: 'identity_64', parameters: { unload_dependents: text('yes') } }),
  ),
  controlOverGrpc(
    {
      row: 'trace-setting',
      title: 'another trace file',
      code: 'TRITON_UNIMPLEMENTED',
      details: 'trace file location can not be updated through network protocol',
    },
    Service.traceSetting,
    now({ modelName: '', settings: { trace_file: { value: ['x'] } } }),
  ),
  controlOverGrpc(
    {
      row: 'log-settings',
      title: 'another log file',
      code: 'TRITON_UNIMPLEMENTED',
      details: 'log file location can not be updated through network protocol',
    },
    Service.logSettings,
    now({ settings: { log_file: text('x') } }),
  ),
  controlOverGrpc(
    { row: 'register-unmappable', title: 'size 0', code: INVALID, details: 'unable to process address space' },
    Service.systemSharedMemoryRegister,
    async (context) => {
      const { name, key } = context.unregistered(4096);
      return { name, key, offset: 0n, byteSize: 0n };
    },
  ),
  controlOverGrpc(
    {
      row: 'register-unmappable',
      title: 'an offset within a page',
      code: INVALID,
      details: 'unable to process address space',
    },
    Service.systemSharedMemoryRegister,
    async (context) => {
      const { name, key } = context.unregistered(4096);
      return { name, key, offset: 1n, byteSize: 8n };
    },
  ),
  controlOverGrpc(
    {
      row: 'register-key-reserved',
      title: 'a key of slashes',
      code: 'TRITON_INTERNAL',
      details: "Unable to open shared memory region: '///'",
      versions: OPENS_ANY_KEY,
    },
    Service.systemSharedMemoryRegister,
    now({ name: UNKNOWN, key: '///', offset: 0n, byteSize: 8n }),
  ),
  controlOverGrpc(
    {
      row: 'register-key-reserved',
      title: 'a key of slashes that is looked at',
      code: INVALID,
      details: `cannot register shared memory region '${UNKNOWN}' - invalid shm key '///'`,
      versions: ['2.68'],
    },
    Service.systemSharedMemoryRegister,
    now({ name: UNKNOWN, key: '///', offset: 0n, byteSize: 8n }),
  ),
  controlOverGrpc(
    {
      row: 'status-unknown',
      title: 'an unknown system region',
      code: 'TRITON_NOT_FOUND',
      details: `Unable to find system shared memory region: '${UNKNOWN}'`,
    },
    Service.systemSharedMemoryStatus,
    now({ name: UNKNOWN }),
  ),
  refused(
    'status-unknown',
    'the server’s words for an unknown CUDA region',
    async (context) => {
      const outcome = await context.raw.call(Service.cudaSharedMemoryStatus, { name: UNKNOWN });
      const kind = difference('cuda-status-text', context.target.version);
      expect(outcome).toEqual({ code: 5, details: `Unable to find ${kind} shared memory region: '${UNKNOWN}'` });
    },
    { transports: ['grpc'] },
  ),
  controlOverGrpc(
    {
      row: 'status-wrong-kind',
      title: 'a region of the other kind',
      code: 'TRITON_NOT_FOUND',
      details: 'is registered as system shared memory, not CUDA shared memory',
    },
    Service.cudaSharedMemoryStatus,
    async (context) => ({ name: (await context.block(64)).name }),
  ),

  overHttp(
    {
      row: 'infer-region-parameters',
      title: 'an offset without a region',
      status: 400,
      code: INVALID,
      details: 'Input must set only one of the following fields',
    },
    'POST',
    INFER,
    json({
      inputs: [
        { ...jsonInput('INPUT0'), data: undefined, parameters: { shared_memory_offset: 0 } },
        jsonInput('INPUT1'),
      ],
    }),
  ),
  overHttp(
    {
      row: 'infer-region-parameters',
      title: 'a region and data',
      status: 400,
      code: INVALID,
      details: "But set 'data' 'shared_memory_region'",
    },
    'POST',
    INFER,
    json({ inputs: [jsonInput('INPUT0', { parameters: { shared_memory_region: UNKNOWN } }), jsonInput('INPUT1')] }),
  ),
  overHttp(
    {
      row: 'binary-data',
      title: 'fewer bytes than it was told',
      status: 400,
      code: INVALID,
      details: "unexpected size for input 'INPUT0', expecting 64 additional bytes",
    },
    'POST',
    INFER,
    json({
      inputs: [jsonInput('INPUT0', { data: undefined, parameters: { binary_data_size: 64 } }), jsonInput('INPUT1')],
    }),
  ),
  overHttp(
    {
      row: 'binary-data',
      title: 'an output in a region and in the answer',
      status: 400,
      code: INVALID,
      details: "Output can't set both 'shared_memory_region' and 'binary_data'",
    },
    'POST',
    INFER,
    json({
      outputs: [
        {
          name: 'OUTPUT0',
          parameters: { shared_memory_region: UNKNOWN, shared_memory_byte_size: 64, binary_data: true },
        },
      ],
    }),
  ),
  overHttp(
    {
      row: 'model-infer',
      title: 'what is no JSON',
      status: 500,
      code: 'TRITON_INTERNAL',
      details: 'failed to parse the request JSON buffer',
    },
    'POST',
    INFER,
    '{inputs',
  ),
  overHttp(
    {
      row: 'model-infer',
      title: 'an input without a shape',
      status: 500,
      code: 'TRITON_INTERNAL',
      details: "Unable to parse 'shape'",
    },
    'POST',
    INFER,
    json({ inputs: [jsonInput('INPUT0', { shape: undefined }), jsonInput('INPUT1')] }),
  ),
  overHttp(
    {
      row: 'model-infer',
      title: 'an unknown datatype',
      status: 400,
      code: INVALID,
      details: 'invalid datatype for input INPUT0',
    },
    'POST',
    INFER,
    json({ inputs: [jsonInput('INPUT0', { datatype: 'INT33' }), jsonInput('INPUT1')] }),
  ),
  overHttp(
    {
      row: 'custom-parameters',
      title: 'a list',
      status: 400,
      code: INVALID,
      details: "parameter 'l' has invalid type. It should be either 'int', 'bool', or 'string'.",
    },
    'POST',
    INFER,
    json({ parameters: { l: [1] } }),
  ),
  overHttp(
    {
      row: 'custom-parameters',
      title: 'a name of the server’s own',
      status: 400,
      code: INVALID,
      details: "parameter keys starting with 'triton_' are reserved",
    },
    'POST',
    INFER,
    json({ parameters: { triton_x: 1 } }),
  ),
  overHttp(
    {
      row: 'classification',
      title: 'classification into a region',
      status: 400,
      code: INVALID,
      details: "Output can't set both 'shared_memory_region' and 'classification'",
    },
    'POST',
    INFER,
    json({
      outputs: [
        {
          name: 'OUTPUT0',
          parameters: { shared_memory_region: UNKNOWN, shared_memory_byte_size: 64, classification: 1 },
        },
      ],
    }),
  ),
  overHttp(
    {
      row: 'model-load',
      title: 'a parameter that there is not',
      status: 500,
      code: 'TRITON_INTERNAL',
      details: 'unexpected error on creating Triton parameter',
    },
    'POST',
    '/v2/repository/models/identity_64/load',
    { parameters: { foo: 'x' } },
  ),
  overHttp(
    {
      row: 'trace-setting',
      title: 'a rate that is no text',
      status: 500,
      code: 'TRITON_INTERNAL',
      details: 'attempt to access JSON non-string as string',
    },
    'POST',
    '/v2/trace/setting',
    { trace_rate: 1 },
  ),
  overHttp(
    {
      row: 'trace-setting',
      title: 'another trace file',
      status: 501,
      code: 'TRITON_UNIMPLEMENTED',
      details: 'trace file location can not be updated through network protocol',
    },
    'POST',
    '/v2/trace/setting',
    { trace_file: 'x' },
  ),
  overHttp(
    {
      row: 'log-settings',
      title: 'another log file',
      status: 501,
      code: 'TRITON_UNIMPLEMENTED',
      details: 'log file location can not be updated through network protocol',
    },
    'POST',
    '/v2/logging',
    { log_file: 'x' },
  ),
  overHttp(
    {
      row: 'register-incomplete',
      title: 'no key',
      status: 400,
      code: INVALID,
      details: "Shared memory register request has no 'key' field",
    },
    'POST',
    `${SYSTEM}/register`,
    { byte_size: 8 },
  ),
  overHttp(
    {
      row: 'register-incomplete',
      title: 'no name',
      status: 400,
      code: INVALID,
      details: "'region name' is necessary to register system shared memory region",
    },
    'POST',
    '/v2/systemsharedmemory/register',
    { key: '/k', byte_size: 8 },
  ),
  overHttp(
    {
      row: 'register-incomplete',
      title: 'no device',
      status: 500,
      code: 'TRITON_INTERNAL',
      details: "attempt to access non-existing object member 'device_id'",
    },
    'POST',
    `${CUDA}/register`,
    { raw_handle: { b64: Buffer.alloc(64).toString('base64') }, byte_size: 8 },
  ),
  overHttp(
    {
      row: 'register-cuda-handle-length',
      title: 'a handle of 10 bytes',
      status: 400,
      code: INVALID,
      details: "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t",
    },
    'POST',
    `${CUDA}/register`,
    { raw_handle: { b64: Buffer.alloc(10).toString('base64') }, byte_size: 8, device_id: 0 },
  ),
  overHttp(
    {
      row: 'register-key-reserved',
      title: 'a key of slashes',
      status: 500,
      code: 'TRITON_INTERNAL',
      details: "Unable to open shared memory region: '///'",
      versions: OPENS_ANY_KEY,
    },
    'POST',
    `${SYSTEM}/register`,
    { key: '///', byte_size: 8 },
  ),
  overHttp(
    {
      row: 'register-key-reserved',
      title: 'a key of slashes that is looked at',
      status: 400,
      code: INVALID,
      details: `cannot register shared memory region '${UNKNOWN}' - invalid shm key '///'`,
      versions: ['2.68'],
    },
    'POST',
    `${SYSTEM}/register`,
    { key: '///', byte_size: 8 },
  ),
  overHttp(
    {
      row: 'status-unknown',
      title: 'an unknown region',
      status: 404,
      code: 'TRITON_NOT_FOUND',
      details: `Unable to find system shared memory region: '${UNKNOWN}'`,
    },
    'GET',
    `${SYSTEM}/status`,
  ),
];
