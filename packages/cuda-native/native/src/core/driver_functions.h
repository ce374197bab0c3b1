// The table of the driver functions that we call.
#pragma once

#include "driver_types.h"

namespace zerohop {

// Whether a call may be made on the JS thread.
enum class CallClass {
  // Reads or sets a little state; takes microseconds.
  kPrompt,
  // Adds work to a stream. Waits only where a stream has about a thousand pieces of work outstanding.
  kEnqueues,
  // May wait for the device, the kernel module or another thread: only on the addon's own threads.
  kWaits,
};

// X(name, symbol, class, parameters). All return CUresult. These every driver from 11.4 (470) on has.
// clang-format off
#define ZEROHOP_DRIVER_FUNCTIONS(X)                                                                                    \
  X(cuInit, "cuInit", kWaits, (unsigned int flags))                                                                    \
  X(cuDriverGetVersion, "cuDriverGetVersion", kPrompt, (int* version))                                                 \
  X(cuGetErrorName, "cuGetErrorName", kPrompt, (CUresult error, const char** text))                                    \
  X(cuGetErrorString, "cuGetErrorString", kPrompt, (CUresult error, const char** text))                                \
  X(cuDeviceGetCount, "cuDeviceGetCount", kPrompt, (int* count))                                                       \
  X(cuDeviceGet, "cuDeviceGet", kPrompt, (CUdevice* device, int ordinal))                                              \
  X(cuDeviceGetName, "cuDeviceGetName", kPrompt, (char* name, int length, CUdevice device))                            \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", kPrompt, (int* value, int attribute, CUdevice device))               \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", kPrompt, (size_t* bytes, CUdevice device))                                \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2", kPrompt, (CUuuid* uuid, CUdevice device))                                   \
  X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", kPrompt, (char* id, int length, CUdevice device))                      \
  X(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", kPrompt, (int* can, CUdevice device, CUdevice peer))               \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", kWaits, (CUcontext* context, CUdevice device))               \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", kPrompt, (CUcontext* context))                                                 \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", kPrompt, (CUcontext context))                                                  \
  X(cuCtxSynchronize, "cuCtxSynchronize", kWaits, ())                                                                  \
  X(cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", kPrompt, (int* least, int* greatest))                  \
  X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", kWaits, (CUcontext peer, unsigned int flags))                      \
  X(cuMemGetInfo, "cuMemGetInfo_v2", kPrompt, (size_t* free, size_t* total))                                           \
  X(cuMemAlloc, "cuMemAlloc_v2", kWaits, (CUdeviceptr* address, size_t bytes))                                         \
  X(cuMemFree, "cuMemFree_v2", kWaits, (CUdeviceptr address))                                                          \
  X(cuMemGetAddressRange, "cuMemGetAddressRange_v2", kPrompt, (CUdeviceptr* base, size_t* size, CUdeviceptr p))        \
  X(cuPointerGetAttribute, "cuPointerGetAttribute", kPrompt, (void* data, int attribute, CUdeviceptr address))         \
  X(cuMemHostAlloc, "cuMemHostAlloc", kWaits, (void** memory, size_t bytes, unsigned int flags))                       \
  X(cuMemFreeHost, "cuMemFreeHost", kWaits, (void* memory))                                                            \
  X(cuMemHostRegister, "cuMemHostRegister_v2", kWaits, (void* memory, size_t bytes, unsigned int flags))               \
  X(cuMemHostUnregister, "cuMemHostUnregister", kWaits, (void* memory))                                                \
  X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", kPrompt,                                                \
    (CUdeviceptr* address, void* memory, unsigned int flags))                                                          \
  X(cuIpcGetMemHandle, "cuIpcGetMemHandle", kWaits, (CUipcMemHandle* handle, CUdeviceptr address))                     \
  X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2", kWaits,                                                               \
    (CUdeviceptr* address, CUipcMemHandle handle, unsigned int flags))                                                 \
  X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", kWaits, (CUdeviceptr address))                                         \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", kEnqueues,                                                              \
    (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))                                                 \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", kEnqueues,                                                              \
    (void* to, CUdeviceptr from, size_t bytes, CUstream stream))                                                       \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", kEnqueues,                                                              \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                                                 \
  X(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", kEnqueues,                                                                 \
    (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream))   \
  X(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", kEnqueues, (const CUDA_MEMCPY2D* copy, CUstream stream))                    \
  X(cuMemsetD8Async, "cuMemsetD8Async", kEnqueues,                                                                     \
    (CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream))                                               \
  X(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", kPrompt,                                                 \
    (CUstream* stream, unsigned int flags, int priority))                                                              \
  X(cuStreamDestroy, "cuStreamDestroy_v2", kWaits, (CUstream stream))                                                  \
  X(cuStreamQuery, "cuStreamQuery", kPrompt, (CUstream stream))                                                        \
  X(cuStreamSynchronize, "cuStreamSynchronize", kWaits, (CUstream stream))                                             \
  X(cuStreamWaitEvent, "cuStreamWaitEvent", kEnqueues, (CUstream stream, CUevent event, unsigned int flags))           \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", kPrompt, (CUstream stream, int mode))                             \
  X(cuStreamEndCapture, "cuStreamEndCapture", kPrompt, (CUstream stream, CUgraph* graph))                              \
  X(cuEventCreate, "cuEventCreate", kPrompt, (CUevent* event, unsigned int flags))                                     \
  X(cuEventDestroy, "cuEventDestroy_v2", kWaits, (CUevent event))                                                      \
  X(cuEventRecord, "cuEventRecord", kEnqueues, (CUevent event, CUstream stream))                                       \
  X(cuEventQuery, "cuEventQuery", kPrompt, (CUevent event))                                                            \
  X(cuEventElapsedTime, "cuEventElapsedTime", kPrompt, (float* milliseconds, CUevent start, CUevent end))              \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx", kWaits,                                                                  \
    (CUmodule* module, const void* image, unsigned int count, int* options, void** values))                            \
  X(cuModuleUnload, "cuModuleUnload", kWaits, (CUmodule module))                                                       \
  X(cuModuleGetFunction, "cuModuleGetFunction", kWaits, (CUfunction* function, CUmodule module, const char* name))     \
  X(cuFuncGetAttribute, "cuFuncGetAttribute", kWaits, (int* value, int attribute, CUfunction function))                \
  X(cuFuncSetAttribute, "cuFuncSetAttribute", kWaits, (CUfunction function, int attribute, int value))                 \
  X(cuLaunchKernel, "cuLaunchKernel", kEnqueues,                                                                       \
    (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,         \
     unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void** parameters,        \
     void** extra))                                                                                                    \
  X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", kWaits,                                                \
    (CUgraphExec* executable, CUgraph graph, unsigned long long flags))                                                \
  X(cuGraphUpload, "cuGraphUpload", kWaits, (CUgraphExec executable, CUstream stream))                                 \
  X(cuGraphLaunch, "cuGraphLaunch", kEnqueues, (CUgraphExec executable, CUstream stream))                              \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", kWaits, (CUgraphExec executable))                                        \
  X(cuGraphDestroy, "cuGraphDestroy", kWaits, (CUgraph graph))

// These only newer drivers have; null where they are absent.
#define ZEROHOP_OPTIONAL_DRIVER_FUNCTIONS(X)                                                                           \
  X(cuLaunchKernelEx, "cuLaunchKernelEx", kEnqueues,                                                                   \
    (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra))                              \
  X(cuFuncLoad, "cuFuncLoad", kWaits, (CUfunction function))                                                           \
  X(cuFuncGetParamInfo, "cuFuncGetParamInfo", kPrompt,                                                                 \
    (CUfunction function, size_t index, size_t* offset, size_t* size))
// clang-format on

}  // namespace zerohop
