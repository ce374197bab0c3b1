import type { TritonErrorCode } from './errors.js';

/**
 * On a stream Triton sends a failure's text and no code, and over HTTP one status for several codes. These are the codes
 * that a unary gRPC call gets with the same text, as seen on servers 2.48 and 2.51; each pattern is anchored in the
 * server's own words, so that text a model raises is not mistaken for them. The first match decides. Names in them may
 * have line breaks.
 */
const TEXTS: readonly (readonly [RegExp, TritonErrorCode])[] = [
  [/^Unable to find (?:system |cuda )?shared memory region: '/, 'TRITON_NOT_FOUND'],
  [/^The region named '.*' is registered as /s, 'TRITON_NOT_FOUND'],
  // A version that is being loaded or unloaded; what there is not ends otherwise.
  [/^Request for unknown model: .* is not at ready state$/s, 'TRITON_UNAVAILABLE'],
  [/^Request for unknown model: /, 'TRITON_NOT_FOUND'],
  [/^shared memory region '.*' already in manager/s, 'TRITON_ALREADY_EXISTS'],

  [
    /^(?:Exceeds maximum queue size|Request timeout expired|Server (?:not ready|exiting|is stopping))/,
    'TRITON_UNAVAILABLE',
  ],
  [/^This (?:protocol|API) is restricted, expecting header /, 'TRITON_UNAVAILABLE'],
  [/^GRPC server is shutting down/, 'TRITON_UNAVAILABLE'],
  [/^explicit model load \/ unload is not allowed /, 'TRITON_UNAVAILABLE'],

  [/^Client shared memory is disabled/, 'TRITON_UNIMPLEMENTED'],
  [/doesn't support models with decoupled transaction policy$/, 'TRITON_UNIMPLEMENTED'],
  [/^generate expects model to produce exactly 1 response/, 'TRITON_UNIMPLEMENTED'],
  [/^Shared memory feature is currently not supported on /, 'TRITON_UNIMPLEMENTED'],
  [/^string correlation ID cannot be longer than /, 'TRITON_UNIMPLEMENTED'],
  [/^'repository_name' specification is not supported/, 'TRITON_UNIMPLEMENTED'],
  [/^(?:trace|log) file location can ?not be updated /, 'TRITON_UNIMPLEMENTED'],
  [/^Unsupported compression type/, 'TRITON_UNIMPLEMENTED'],

  // Regions, in a request and where they are registered.
  [/^Invalid offset (?:\+ byte size )?for shared memory region: '/, 'TRITON_INVALID_ARGUMENT'],
  [/^Integer overflow detected: byte_size /, 'TRITON_INVALID_ARGUMENT'],
  [/^(?:The )?'?shared_memory_(?:byte_size|offset|region)'? (?:must|can ?not)/, 'TRITON_INVALID_ARGUMENT'],
  [/^(?:failed to|cannot) register (?:CUDA )?shared memory region/, 'TRITON_INVALID_ARGUMENT'],
  [/^'region name' is necessary to register /, 'TRITON_INVALID_ARGUMENT'],
  [/^Shared memory register request has no '/, 'TRITON_INVALID_ARGUMENT'],
  [/^'raw_handle' must be a valid base64 /, 'TRITON_INVALID_ARGUMENT'],

  // Parameters, models, settings.
  [/^invalid value (?:type )?for (?:load parameter )?'/, 'TRITON_INVALID_ARGUMENT'],
  [/^parameter (?:keys starting with 'triton_' are reserved|'.*' has invalid type)/s, 'TRITON_INVALID_ARGUMENT'],
  [/^unrecognized load parameter '/, 'TRITON_INVALID_ARGUMENT'],
  [/^failed to get model version from specified version string /, 'TRITON_INVALID_ARGUMENT'],
  [/^invalid model version specified /, 'TRITON_INVALID_ARGUMENT'],
  [/^requested model (?:'.*'|version) is not available/s, 'TRITON_INVALID_ARGUMENT'],
  [/^load failed for model '/, 'TRITON_INVALID_ARGUMENT'],
  // With a blank before the colon, of trace settings alone.
  [/^Request for unknown model : /, 'TRITON_INVALID_ARGUMENT'],
  [/^Attempting to set invalid trace setting /, 'TRITON_INVALID_ARGUMENT'],
  [/^invalid argument for (?:--)?log_format/, 'TRITON_INVALID_ARGUMENT'],

  // Inputs and outputs.
  [/^(?:input|output) '.*' (?:already exists in request|batch size does not match)/s, 'TRITON_INVALID_ARGUMENT'],
  [/^input byte size mismatch for input '/, 'TRITON_INVALID_ARGUMENT'],
  [
    /^unexpected (?:inference (?:input|output)|shape for input|explicit tensor data|'content')/,
    'TRITON_INVALID_ARGUMENT',
  ],
  [/^unexpected (?:number of string elements|total byte size|additional input data)/, 'TRITON_INVALID_ARGUMENT'],
  [/^unexpected size for input '/, 'TRITON_INVALID_ARGUMENT'],
  [/^incomplete string (?:data|length indicator) /, 'TRITON_INVALID_ARGUMENT'],
  [/^expected (?:number of inputs|\d+ (?:inputs but got|string elements))/, 'TRITON_INVALID_ARGUMENT'],
  [/^inference input '.*' data-type is '/s, 'TRITON_INVALID_ARGUMENT'],
  [/^invalid datatype for input /, 'TRITON_INVALID_ARGUMENT'],
  [/^inference request (?:batch-size must be|for sequence |to model )/, 'TRITON_INVALID_ARGUMENT'],
  [/^All input dimensions should be specified /, 'TRITON_INVALID_ARGUMENT'],
  [/^unable to find data for input tensor '/, 'TRITON_INVALID_ARGUMENT'],
  [/^contents field must not be specified when using raw_input_contents /, 'TRITON_INVALID_ARGUMENT'],
  [/^(?:class result not available|output can't set both) /i, 'TRITON_INVALID_ARGUMENT'],
  [/^Response has byte size \d+ which exceeds gRPC's byte size limit/, 'TRITON_INVALID_ARGUMENT'],

  // Bodies of HTTP requests.
  [/^Input must set only one of the following fields: /, 'TRITON_INVALID_ARGUMENT'],
  [/^Raw request must only have 1 input /, 'TRITON_INVALID_ARGUMENT'],
  [/^inference header size should be in range /, 'TRITON_INVALID_ARGUMENT'],
  [/^nothing to be decompressed/, 'TRITON_INVALID_ARGUMENT'],
  [/^(?:receiving|sending) (?:FP16|BF16) data via JSON is not supported/, 'TRITON_INVALID_ARGUMENT'],
  [/^The schema can not convert input '/, 'TRITON_INVALID_ARGUMENT'],
  [/^Unsupported content-encoding, /, 'TRITON_INVALID_ARGUMENT'],
  // Triton calls its mistakes in JSON internal errors.
  [/^failed to parse the request JSON buffer: /, 'TRITON_INTERNAL'],
  [/^(?:Unable to parse '.*': |attempt to access (?:JSON non-|non-existing object member ))/s, 'TRITON_INTERNAL'],
  [/^unexpected error on creating Triton parameter/, 'TRITON_INTERNAL'],

  [/^shared memory size specified with the request for output '/, 'TRITON_INTERNAL'],
  [/^(?:Unable to open|Invalid) shared memory region: '/, 'TRITON_INTERNAL'],
  [/^Cannot unregister shared memory region '/, 'TRITON_INTERNAL'],
  [/^Failed to unregister the following (?:system|cuda) shared memory regions: /, 'TRITON_INTERNAL'],
  [/^failed to load '.*', failed to poll from model repository/s, 'TRITON_INTERNAL'],
  [/^Failed to process the request\(s\) for model '/, 'TRITON_INTERNAL'],
  [/^Stub process '.*' is not healthy/s, 'TRITON_INTERNAL'],
  [/^output tensor shape does not match size of output for '/, 'TRITON_INTERNAL'],
  [/^Unable to parse request/, 'TRITON_INTERNAL'],
];

/** What an ensemble puts before the text of an error whose code it keeps, of one of its steps for example. */
const ENSEMBLE = /^(?:in ensemble '.*?', )+/s;
const REQUEST_ID = /^\[request id: .*?\] /s;

/**
 * The server's text without the request id that it puts before some.
 *
 * @param id - the request's, where it is known: it may hold what ends it in the text
 */
export function withoutRequestId(details: string, id = ''): string {
  const prefix = `[request id: ${id}] `;
  return id !== '' && details.startsWith(prefix) ? details.slice(prefix.length) : details.replace(REQUEST_ID, '');
}

/** The code that a unary gRPC call gets with this text; undefined for a text that is not in the table. */
export function codeOfText(text: string): TritonErrorCode | undefined {
  const own = text.replace(ENSEMBLE, '');
  return TEXTS.find(([pattern]) => pattern.test(own))?.[1];
}

/** The server found it while reading the request, so that nothing ran. */
export function saysRegionIsUnknown(text: string): boolean {
  return text.startsWith("Unable to find shared memory region: '");
}
