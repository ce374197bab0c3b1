import type { TritonErrorCode } from '../../src/index.js';

/**
 * Every error text that servers were seen to give, with its code. `grpc` is the status that a unary call got with it;
 * absent: only HTTP says it. On a stream the text comes alone, and over HTTP one status stands for several codes: the
 * text alone must give the code.
 */
export interface KnownText {
  readonly text: string;
  readonly code: TritonErrorCode;
  readonly grpc?: number;
  readonly region?: string;
  readonly output?: string;
  readonly requiredByteLength?: number;
}

const named = (
  code: TritonErrorCode,
  grpc: number | undefined,
  texts: readonly (string | Partial<KnownText>)[],
): KnownText[] =>
  texts.map((entry) => {
    const { text, ...parts } = typeof entry === 'string' ? { text: entry } : entry;
    return { text: text as string, code, ...(grpc === undefined ? {} : { grpc }), ...parts };
  });

const FOR_TRITON = "parameter keys starting with 'triton_' are reserved for Triton usage";

export const TEXTS: readonly KnownText[] = [
  ...named('TRITON_INVALID_ARGUMENT', 3, [
    // Models and versions.
    "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
    "invalid model version specified '-1' , version should be an integral value > 0",
    "requested model 'nope' is not available",
    "requested model version is not available for model 'simple'",
    "load failed for model 'broken': version 1 is at UNAVAILABLE state: Internal: ValueError: broken",
    "unrecognized load parameter 'foo'.",
    "invalid value type for load parameter 'config', expected string_param.",
    "invalid value type for load parameter 'file:1/model.py', expected bytes_param.",
    "invalid value type for 'unload_dependents' parameter, expected bool_param.",
    // Settings.
    'Request for unknown model : nope',
    'Attempting to set invalid trace setting :',
    'Attempting to set invalid trace setting :trace file name is not given',
    'invalid argument for log_format, got: bad',
    // Inputs and outputs.
    "[request id: RID] input byte size mismatch for input 'INPUT1' for model 'simple'. Expected 64, got 128",
    "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'simple'",
    "[request id: <id_unknown>] input 'INPUT0' batch size does not match other inputs for 'simple'",
    "[request id: <id_unknown>] input 'INPUT0' already exists in request",
    "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'simple'. Expected [-1,16], got [1,15]. NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape.",
    "[request id: <id_unknown>] All input dimensions should be specified for input 'INPUT0' for model 'simple', got [1,-1]",
    "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'FP32', but model 'simple' expects 'INT32'",
    "[request id: <id_unknown>] inference input 'INPUT0' data-type is '<invalid>', but model 'simple' expects 'INT32'",
    "[request id: <id_unknown>] expected 2 inputs but got 3 inputs for model 'simple'. Got input(s) ['EXTRA','INPUT1','INPUT0'], but missing required input(s) ]. Please provide all required input(s).",
    "[request id: <id_unknown>] expected number of inputs between 1 and 4 but got 0 inputs for model 'optional'. Got input(s) ]",
    "unexpected inference input 'WRONG' for model 'simple'",
    "[request id: <id_unknown>] unexpected inference output 'OUTPUT9' for model 'simple'",
    "[request id: <id_unknown>] unexpected number of string elements 2 for inference input 'IN_STRING', expecting 1",
    "[request id: <id_unknown>] expected 2 string elements for inference input 'IN_STRING', got 1",
    "[request id: <id_unknown>] incomplete string length indicator for inference input 'IN_STRING', expecting 4 bytes but only 2 bytes available",
    "incomplete string data for inference input 'IN_STRING', expecting string of length 5 but only 2 bytes available",
    "unable to find data for input tensor 'INPUT1' for model 'simple' in request.",
    "contents field must not be specified when using raw_input_contents for 'INPUT0' for model 'simple'",
    "unexpected 'content' provided when using shared memory for input tensor 'INPUT0' for model 'simple'",
    "unexpected explicit tensor data for input tensor 'IN_FP16' for model 'types' of type 'FP32', expected datatype 'FP16'",
    "unexpected explicit tensor data for input tensor 'INPUT0' for model 'simple', binary data was already supplied.",
    // Parameters.
    "invalid value type for 'sequence_id' parameter, expected int64_param or string_param.",
    "invalid value for 'priority', expected value >= 0.",
    "invalid value type for 'u' parameter, expected int64_param, bool_param, or string_param.",
    `${FOR_TRITON}. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response`,
    "[request id: <id_unknown>] inference request to model 'seq' must specify a non-zero or non-empty correlation ID",
    "[request id: <id_unknown>] inference request for sequence 7 to model 'seq' must specify the START flag on the first request of the sequence",
    "invalid value for 'classification' parameter, expected >= 0",
    "class result not available for output due to unsupported type 'FP16'",
    "output can't set both 'shared_memory_region' and 'classification'",
    "Response has byte size 2180000033 which exceeds gRPC's byte size limit 2147483647.",
    // Regions.
    { text: "Invalid offset for shared memory region: 'a'", region: 'a' },
    { text: "Invalid offset + byte size for shared memory region: 'a'", region: 'a' },
    {
      text: "Integer overflow detected: byte_size (18446744073709551615) + offset (1) exceeds maximum value (18446744073709551615) for region 'a'",
      region: 'a',
    },
    "invalid value type for 'shared_memory_region' parameter for tensor 'INPUT0', expected string_param.",
    "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'INPUT0'",
    "'shared_memory_offset' can not be specified without 'shared_memory_region' parameter for tensor 'INPUT0'",
    'failed to register shared memory region: invalid args',
    { text: "failed to register shared memory region 'a': invalid args", region: 'a' },
    {
      text: "failed to register shared memory region 'a': unable to process address spaceCannot allocate memory",
      region: 'a',
    },
    { text: "failed to register CUDA shared memory region: 'a', GPUs not supported", region: 'a' },
    { text: "cannot register shared memory region 'a' - invalid shm key '///'", region: 'a' },
    {
      text: "cannot register shared memory region 'a' with key 'triton_python_backend_shm_region_1' as the key contains the reserved prefix 'triton_python_backend_shm_region_'",
      region: 'a',
    },
  ]),
  ...named('TRITON_INVALID_ARGUMENT', undefined, [
    'invalid argument for --log_format, got: bad',
    'invalid datatype for input INPUT0',
    `${FOR_TRITON} and should not be specified.`,
    "parameter 'l' has invalid type. It should be either 'int', 'bool', or 'string'.",
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But no field is set",
    "Output can't set both 'shared_memory_region' and 'classification'",
    "Output can't set both 'shared_memory_region' and 'binary_data'",
    "Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'simple' model configuration",
    "unexpected size for input 'INPUT0', expecting 64 additional bytes for model 'simple'",
    "unexpected additional input data for model 'simple'",
    'inference header size should be in range (0, 338), got: 100000',
    'nothing to be decompressed',
    "receiving FP16 data via JSON is not supported. Please use the binary data format for input 'INPUT0'",
    "sending BF16 data via JSON is not supported. Please use the binary data format for output 'OUTPUT0'",
    "The schema can not convert input 'n' to tensor with proper shape",
    "Unsupported content-encoding, only 'identity' is supported.",
    "'region name' is necessary to register system shared memory region",
    "Shared memory register request has no 'key' field",
    "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t",
  ]),
  ...named('TRITON_NOT_FOUND', 5, [
    "Request for unknown model: 'nope' is not found",
    "Request for unknown model: 'simple' version 9 is not found",
    "Request for unknown model: 'simple' has no available versions",
    { text: "Unable to find shared memory region: 'a'", region: 'a' },
    { text: "Unable to find system shared memory region: 'a'", region: 'a' },
    { text: "Unable to find cuda shared memory region: 'a'", region: 'a' },
    {
      text: "The region named 'a' is registered as CUDA shared memory, not system shared memory",
      region: 'a',
    },
    {
      text: "The region named 'a' is registered as system shared memory, not CUDA shared memory",
      region: 'a',
    },
  ]),
  ...named('TRITON_ALREADY_EXISTS', 6, [{ text: "shared memory region 'a' already in manager", region: 'a' }]),
  ...named('TRITON_UNIMPLEMENTED', 12, [
    "ModelInfer RPC doesn't support models with decoupled transaction policy",
    "'repository_name' specification is not supported",
    'trace file location can not be updated through network protocol',
    'log file location can not be updated through network protocol',
    'string correlation ID cannot be longer than 128 characters',
    "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
    'Shared memory feature is currently not supported on Windows',
  ]),
  ...named('TRITON_UNIMPLEMENTED', undefined, [
    "HTTP end point doesn't support models with decoupled transaction policy",
    'Unsupported compression type',
    'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses',
  ]),
  ...named('TRITON_INTERNAL', 13, [
    "failed to load 'nope', failed to poll from model repository",
    "Failed to process the request(s) for model 'fail_0_0', message: ValueError: boom",
    "Stub process 'identity_0_0' is not healthy.",
    'Unable to parse request',
    // These name the key.
    "Unable to open shared memory region: '/k'",
    "Invalid shared memory region: '/k'",
    { text: "Cannot unregister shared memory region 'a', it is currently in use.", region: 'a' },
    'Failed to unregister the following system shared memory regions: a ,b ,',
    'Failed to unregister the following cuda shared memory regions: a ,',
    {
      text: "shared memory size specified with the request for output 'OUTPUT0' (16 bytes) should be at least 64 bytes to hold the results",
      output: 'OUTPUT0',
      requiredByteLength: 64,
    },
  ]),
  ...named('TRITON_INTERNAL', undefined, [
    'failed to parse the request JSON buffer: Missing a name for object member. at 1',
    "Unable to parse 'shape': attempt to access non-existing object member 'shape'",
    "Unable to parse 'data': Shape does not match true shape of 'data' field",
    "attempt to access non-existing object member 'byte_size'",
    'attempt to access JSON non-string as string',
    'unexpected error on creating Triton parameter',
    "output tensor shape does not match size of output for 'OUTPUT0'",
  ]),
  ...named('TRITON_UNAVAILABLE', 14, [
    'Request timeout expired',
    '[request id: q] Exceeds maximum queue size',
    'Server not ready',
    'Server exiting',
    '[request id: <id_unknown>] Server is stopping, scheduler for model has stopped accepting new inference requests',
    "Request for unknown model: 'simple' version 1 is not at ready state",
    'GRPC server is shutting down and has stopped accepting new requests.',
    'explicit model load / unload is not allowed if polling is enabled',
    "This protocol is restricted, expecting header 'triton-grpc-protocol-infra-key'",
  ]),
  ...named('TRITON_UNAVAILABLE', undefined, ["This API is restricted, expecting header 'infra-key'"]),
];
