/**
 * What a complete client has to do, row by row: the calls of the protocol, the options of a request, and the failures that
 * a client of shared memory meets. Each row has at least one accepted and one refused use among the cases, on each
 * transport and each server, or a reason in exemptions.ts.
 */
export const ROWS = [
  // The calls.
  { id: 'server-live', part: 'calls', what: 'ServerLive, GET v2/health/live' },
  { id: 'server-ready', part: 'calls', what: 'ServerReady, GET v2/health/ready' },
  { id: 'health-check', part: 'calls', what: 'grpc.health.v1.Health/Check' },
  { id: 'model-ready', part: 'calls', what: 'ModelReady, GET …/ready' },
  { id: 'server-metadata', part: 'calls', what: 'ServerMetadata, GET v2' },
  { id: 'model-metadata', part: 'calls', what: 'ModelMetadata, GET v2/models/M' },
  { id: 'model-config', part: 'calls', what: 'ModelConfig, GET …/config' },
  { id: 'model-statistics', part: 'calls', what: 'ModelStatistics, GET …/stats' },
  { id: 'model-infer', part: 'calls', what: 'ModelInfer, POST …/infer' },
  { id: 'model-stream-infer', part: 'calls', what: 'ModelStreamInfer: decoupled models, sequences' },
  { id: 'generate', part: 'calls', what: 'POST …/generate' },
  { id: 'generate-stream', part: 'calls', what: 'POST …/generate_stream, server-sent events' },
  { id: 'repository-index', part: 'calls', what: 'RepositoryIndex, POST v2/repository/index' },
  { id: 'model-load', part: 'calls', what: 'RepositoryModelLoad, POST …/load: config, files' },
  { id: 'model-unload', part: 'calls', what: 'RepositoryModelUnload, POST …/unload: unload_dependents' },
  { id: 'system-status', part: 'calls', what: 'SystemSharedMemoryStatus' },
  { id: 'system-register', part: 'calls', what: 'SystemSharedMemoryRegister' },
  { id: 'system-unregister', part: 'calls', what: 'SystemSharedMemoryUnregister, one and all' },
  { id: 'cuda-status', part: 'calls', what: 'CudaSharedMemoryStatus' },
  { id: 'cuda-register', part: 'calls', what: 'CudaSharedMemoryRegister' },
  { id: 'cuda-unregister', part: 'calls', what: 'CudaSharedMemoryUnregister, one and all' },
  { id: 'trace-setting', part: 'calls', what: 'TraceSetting: read, change, clear; of the server and of a model' },
  { id: 'log-settings', part: 'calls', what: 'LogSettings: read, change' },
  { id: 'metrics', part: 'calls', what: 'GET /metrics, Prometheus' },

  // The options of a request.
  { id: 'request-id', part: 'options', what: 'request id' },
  { id: 'model-version', part: 'options', what: 'model version' },
  { id: 'sequence-id', part: 'options', what: 'sequence_id: integer or text' },
  { id: 'sequence-flags', part: 'options', what: 'sequence_start, sequence_end' },
  { id: 'priority', part: 'options', what: 'priority' },
  { id: 'queue-timeout', part: 'options', what: 'timeout: the longest wait in the queue' },
  { id: 'client-deadline', part: 'options', what: 'the client’s own time limit' },
  { id: 'custom-parameters', part: 'options', what: 'custom parameters, reserved names' },
  { id: 'empty-final-response', part: 'options', what: 'triton_enable_empty_final_response, triton_final_response' },
  { id: 'call-headers', part: 'options', what: 'headers of a call, forwarded to the model' },
  { id: 'grpc-error-header', part: 'options', what: 'triton_grpc_error: true' },
  { id: 'restricted-header', part: 'options', what: 'the header that a restricted API expects' },
  { id: 'traceparent', part: 'options', what: 'traceparent' },
  { id: 'load-metrics-header', part: 'options', what: 'endpoint-load-metrics-format' },
  { id: 'shm-tensors', part: 'options', what: 'inputs and outputs in regions, with offset and size' },
  { id: 'classification', part: 'options', what: 'classification: the top n, with labels' },
  { id: 'binary-data', part: 'options', what: 'binary_data_size, binary_data, binary_data_output' },
  { id: 'raw-binary-request', part: 'options', what: 'a request whose body is one tensor' },
  { id: 'http-compression', part: 'options', what: 'Content-Encoding, Accept-Encoding: gzip, deflate' },
  { id: 'http-limits', part: 'options', what: 'size and depth of an HTTP body' },
  { id: 'grpc-compression', part: 'options', what: 'gRPC compression: gzip, deflate' },
  { id: 'tls', part: 'options', what: 'TLS and mutual TLS' },
  { id: 'unix-socket', part: 'options', what: 'gRPC over a unix socket' },
  { id: 'keepalive', part: 'options', what: 'gRPC keepalive' },
  { id: 'message-size', part: 'options', what: 'messages beyond 4 MiB, both ways' },
  { id: 'stream-timeout', part: 'options', what: 'the time limit of a stream' },
  { id: 'cancellation', part: 'options', what: 'cancelling a request' },
  { id: 'shutdown', part: 'options', what: 'a server that leaves' },

  // Failures around shared memory and repositories.
  { id: 'register-name-in-use', part: 'failures', what: 'register: the name is in use, by either kind' },
  { id: 'register-cuda-bad-handle', part: 'failures', what: 'register CUDA: a handle that cannot be opened' },
  { id: 'register-cuda-too-large', part: 'failures', what: 'register CUDA: more bytes than were allocated' },
  { id: 'register-cuda-handle-length', part: 'failures', what: 'register CUDA: a handle that is not 64 bytes' },
  { id: 'register-cuda-cpu-build', part: 'failures', what: 'register CUDA: a server built without CUDA' },
  { id: 'register-key-missing', part: 'failures', what: 'register system: no object of that key' },
  { id: 'register-key-twice', part: 'failures', what: 'register system: the key has another name already' },
  { id: 'register-too-large', part: 'failures', what: 'register system: more bytes than the object has' },
  { id: 'register-unmappable', part: 'failures', what: 'register system: size 0, offset not of a page' },
  { id: 'register-key-reserved', part: 'failures', what: 'register system: a key of slashes, a reserved prefix' },
  { id: 'register-incomplete', part: 'failures', what: 'register: no name, key, size or handle' },
  { id: 'status-unknown', part: 'failures', what: 'status of an unknown name' },
  { id: 'status-wrong-kind', part: 'failures', what: 'status of a region of the other kind' },
  { id: 'unregister-unknown', part: 'failures', what: 'unregister an unknown name' },
  { id: 'unregister-in-use', part: 'failures', what: 'unregister while a request uses the region' },
  { id: 'unregister-all-partly', part: 'failures', what: 'unregister all while a request uses a region' },
  { id: 'infer-region-unknown', part: 'failures', what: 'infer: the region is not registered' },
  { id: 'infer-offset-outside', part: 'failures', what: 'infer: the offset is beyond the region' },
  { id: 'infer-end-outside', part: 'failures', what: 'infer: offset and size are beyond the region' },
  { id: 'infer-offset-overflow', part: 'failures', what: 'infer: offset and size wrap around' },
  { id: 'infer-region-parameters', part: 'failures', what: 'infer: incomplete or mistyped shared_memory_… parameters' },
  { id: 'infer-output-too-small', part: 'failures', what: 'infer: an output is larger than its block' },
  { id: 'restricted-api', part: 'failures', what: 'a restricted API without its header' },
  { id: 'shm-unsupported', part: 'failures', what: 'a server without shared memory: Windows, disabled' },
] as const;

export type RowId = (typeof ROWS)[number]['id'];

export interface Row {
  readonly id: RowId;
  readonly part: 'calls' | 'options' | 'failures';
  readonly what: string;
}
