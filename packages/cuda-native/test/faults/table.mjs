// What each function of the driver and of nvJPEG is made to fail with, and what then happens. Where nothing is said, the
// operation that made the call throws, or rejects with, a CudaError or a JpegError that names call, code and device, leaves
// nothing behind, and the rest of the tour works. An error that loses the context is thrown by every later operation on
// that device as well.

/** @typedef {'error' | 'warning' | 'none' | 'range-error-or-none' | 'error-or-none' | 'unavailable'} Outcome */

// Codes by what the call is. None of the first three kinds has a context that could be lost.
const CODES = {
  init: [1, 2, 100, 803, 999],
  query: [1, 2, 3, 101, 999],
  context: [1, 2, 3, 201, 999],
  // 2 out of memory, 201 invalid context, 700 illegal address, 719 launch failed.
  make: [1, 2, 201, 999, 700, 719],
  enqueue: [1, 2, 400, 999, 700, 719],
  ask: [1, 201, 400, 999, 700, 719],
  // 4 deinitialised and 709 context destroyed: the driver goes away with the process.
  destroy: [1, 4, 400, 709, 999, 700, 719],
  // Of nvjpegStatus_t: 1 not initialised, 2 invalid parameter, 3 bad JPEG, 4 JPEG not supported, 5 allocator failure,
  // 6 execution failed, 7 other architecture, 8 internal error, 9 not implemented, 10 incomplete; 99 is none.
  jpegQuery: [1, 2, 6, 8, 99],
  jpegMake: [1, 2, 4, 5, 6, 7, 8, 9],
  jpegSet: [1, 2, 6, 8, 9],
  jpegWork: [2, 3, 4, 5, 6, 8, 9, 10, 99],
  jpegEngines: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99],
  jpegDestroy: [1, 2, 3, 6, 7, 8],
};

const KINDS = {
  init: ['cuInit'],
  query: [
    'cuDriverGetVersion',
    'cuGetErrorName',
    'cuGetErrorString',
    'cuDeviceGetCount',
    'cuDeviceGet',
    'cuDeviceGetName',
    'cuDeviceGetAttribute',
    'cuDeviceTotalMem',
    'cuDeviceGetUuid',
    'cuDeviceGetPCIBusId',
    'cuDeviceCanAccessPeer',
    'cuDevicePrimaryCtxRetain',
  ],
  context: ['cuCtxGetCurrent', 'cuCtxSetCurrent'],
  make: [
    'cuCtxEnablePeerAccess',
    'cuMemAlloc',
    'cuMemHostAlloc',
    'cuMemHostRegister',
    'cuIpcGetMemHandle',
    'cuIpcOpenMemHandle',
    'cuStreamCreateWithPriority',
    'cuEventCreate',
    'cuModuleLoadDataEx',
    'cuModuleGetFunction',
    'cuFuncSetAttribute',
    'cuFuncLoad',
    'cuGraphInstantiateWithFlags',
  ],
  enqueue: [
    'cuMemcpyHtoDAsync',
    'cuMemcpyDtoHAsync',
    'cuMemcpyDtoDAsync',
    'cuMemcpyPeerAsync',
    'cuMemcpy2DAsync',
    'cuMemsetD8Async',
    'cuStreamWaitEvent',
    'cuStreamBeginCapture',
    'cuStreamEndCapture',
    'cuEventRecord',
    'cuLaunchKernel',
    'cuLaunchKernelEx',
    'cuGraphUpload',
    'cuGraphLaunch',
  ],
  ask: [
    'cuCtxSynchronize',
    'cuCtxGetStreamPriorityRange',
    'cuMemGetInfo',
    'cuMemGetAddressRange',
    'cuPointerGetAttribute',
    'cuMemHostGetDevicePointer',
    'cuStreamQuery',
    'cuStreamSynchronize',
    'cuEventQuery',
    'cuEventElapsedTime',
    'cuFuncGetAttribute',
    'cuFuncGetParamInfo',
  ],
  destroy: [
    'cuMemFree',
    'cuMemFreeHost',
    'cuMemHostUnregister',
    'cuIpcCloseMemHandle',
    'cuStreamDestroy',
    'cuEventDestroy',
    'cuModuleUnload',
    'cuGraphExecDestroy',
    'cuGraphDestroy',
  ],
  jpegQuery: ['nvjpegGetProperty'],
  jpegMake: ['nvjpegCreateEx', 'nvjpegJpegStateCreate', 'nvjpegEncoderStateCreate', 'nvjpegEncoderParamsCreate'],
  jpegSet: ['nvjpegEncoderParamsSetQuality', 'nvjpegEncoderParamsSetSamplingFactors'],
  jpegWork: ['nvjpegDecode', 'nvjpegEncodeImage', 'nvjpegEncodeRetrieveBitstream'],
  jpegEngines: ['nvjpegDecodeBatchedInitialize', 'nvjpegDecodeBatched'],
  jpegDestroy: ['nvjpegDestroy', 'nvjpegJpegStateDestroy', 'nvjpegEncoderStateDestroy', 'nvjpegEncoderParamsDestroy'],
};

/** The codes of each function. */
export const codes = Object.fromEntries(
  Object.entries(KINDS).flatMap(([kind, names]) => names.map((name) => [name, CODES[kind]])),
);
codes.cuCtxEnablePeerAccess = [1, 217, 704, 999, 700, 719];
codes.cuFuncGetParamInfo = [1, 201, 801, 999, 700, 719];

/** The codes that lose a context. */
export const STICKY = [700, 719];

/** Functions that only the first opening of a device, or of nvJPEG, calls: each of their faults gets a process of its own. */
export const ONCE = ['cuInit', 'cuDevicePrimaryCtxRetain', 'nvjpegGetProperty'];

const UNSUPPORTED = 'ERR_JPEG_UNSUPPORTED';
const JPEG_CODES = {
  nvjpegDecode: { 3: 'ERR_JPEG_CORRUPT', 4: UNSUPPORTED, 9: UNSUPPORTED, 10: 'ERR_JPEG_TRUNCATED' },
  nvjpegEncodeImage: { 4: UNSUPPORTED, 9: UNSUPPORTED },
};

/** The code of the JpegError for a status: only what judges a picture says something about it. */
export const jpegCode = (call, status) => JPEG_CODES[call]?.[status] ?? 'ERR_NVJPEG';

const CONTEXT = KINDS.context;
const ASKING = ['cuStreamQuery', 'cuEventQuery', 'cuEventCreate', 'cuEventRecord', ...CONTEXT];

/**
 * What differs from the rule above; the first entry that fits counts.
 *
 * @type {{ calls: string[]; status?: number[]; sticky?: boolean; step?: RegExp; restoring?: true; outcome: Outcome; collected?: true; stays?: true; why: string }[]}
 */
export const EXCEPTIONS = [
  {
    calls: ['cuInit', 'nvjpegGetProperty'],
    outcome: 'unavailable',
    why: 'a library is tried once; no later call finds it',
  },
  {
    calls: ['cuGetErrorName', 'cuGetErrorString'],
    outcome: 'none',
    why: 'the error is told by its number',
  },
  {
    calls: KINDS.query,
    step: /^(availability|Device\.count)\(/,
    outcome: 'unavailable',
    why: 'they say whether there is CUDA',
  },
  { calls: ['cuCtxEnablePeerAccess'], status: [704], outcome: 'none', why: 'there is access already' },
  { calls: ['cuFuncGetParamInfo'], status: [801], outcome: 'none', why: 'a driver that can not tell' },
  {
    calls: ['cuFuncGetParamInfo'],
    status: [1],
    outcome: 'range-error-or-none',
    why: 'it marks the end of the list: the signature is then too long, or right',
  },
  { calls: KINDS.jpegEngines, outcome: 'none', why: "the device's processors decode it instead" },
  { calls: KINDS.destroy, status: [4, 709], outcome: 'none', why: 'the driver is going away and everything with it' },
  {
    calls: ['cuCtxSetCurrent'],
    restoring: true,
    outcome: 'warning',
    why: 'the work is done; the thread is left without a context instead of with ours',
  },
  {
    calls: ['cuCtxSynchronize', ...CONTEXT],
    sticky: false,
    step: /^(drop|end)/,
    outcome: 'warning',
    collected: true,
    stays: true,
    why: 'nobody waits; it is freed with the next thing that is dropped',
  },
  { calls: Object.keys(codes), step: /^(drop|dispose)/, outcome: 'warning', why: 'nobody waits' },
  {
    calls: ASKING,
    sticky: false,
    step: /^close/,
    outcome: 'error-or-none',
    collected: true,
    why: 'when asking fails, cuStreamSynchronize is called; without a context it is freed when it is collected',
  },
  {
    calls: ['cuStreamQuery'],
    sticky: false,
    step: /^copyTo/,
    outcome: 'none',
    why: 'a copy of ordinary memory would only have waited for earlier work first; its own calls tell what is wrong',
  },
  {
    calls: ['cuStreamEndCapture', 'cuGraphDestroy'],
    step: /that throws$/,
    outcome: 'warning',
    why: 'the error of the captured work goes first',
  },
  {
    calls: ['cuIpcCloseMemHandle'],
    step: /^openIpc/,
    outcome: 'warning',
    why: 'why it was not kept goes first',
  },
];
