// The CUDA driver as a table of functions, filled by dlopen on first use. Nothing links libcuda.
#pragma once

#include <string>
#include <vector>

#include "driver_types.h"
#include "status.h"

namespace zerohop {

// Every driver function we call: the name, its exported symbol, and its parameters. All return CUresult.
#define ZEROHOP_DRIVER_FUNCTIONS(X)                                                                     \
  X(cuInit, "cuInit", (unsigned int flags))                                                             \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int* version))                                           \
  X(cuGetErrorName, "cuGetErrorName", (CUresult error, const char** text))                              \
  X(cuGetErrorString, "cuGetErrorString", (CUresult error, const char** text))                          \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int* count))                                                 \
  X(cuDeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))                                       \
  X(cuDeviceGetName, "cuDeviceGetName", (char* name, int length, CUdevice device))                      \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int* value, int attribute, CUdevice device))         \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, CUdevice device))                         \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2", (CUuuid * uuid, CUdevice device))                            \
  X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char* id, int length, CUdevice device))                \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))       \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext * context))                                          \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext context))                                            \
  X(cuCtxSynchronize, "cuCtxSynchronize", ())                                                           \
  X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t * free, size_t * total))                                   \
  X(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * address, size_t bytes))                                 \
  X(cuMemFree, "cuMemFree_v2", (CUdeviceptr address))                                                   \
  X(cuMemGetAddressRange, "cuMemGetAddressRange_v2", (CUdeviceptr * base, size_t * size, CUdeviceptr p)) \
  X(cuMemHostAlloc, "cuMemHostAlloc", (void** memory, size_t bytes, unsigned int flags))                \
  X(cuMemFreeHost, "cuMemFreeHost", (void* memory))                                                     \
  X(cuIpcGetMemHandle, "cuIpcGetMemHandle", (CUipcMemHandle * handle, CUdeviceptr address))             \
  X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2",                                                        \
    (CUdeviceptr * address, CUipcMemHandle handle, unsigned int flags))                                 \
  X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", (CUdeviceptr address))                                  \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                          \
    (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))                                  \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void* to, CUdeviceptr from, size_t bytes, CUstream s))  \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                          \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                                  \
  X(cuMemsetD8Async, "cuMemsetD8Async", (CUdeviceptr to, unsigned char byte, size_t bytes, CUstream s)) \
  X(cuStreamCreate, "cuStreamCreate", (CUstream * stream, unsigned int flags))                          \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                                           \
  X(cuStreamQuery, "cuStreamQuery", (CUstream stream))                                                  \
  X(cuStreamSynchronize, "cuStreamSynchronize", (CUstream stream))                                      \
  X(cuEventCreate, "cuEventCreate", (CUevent * event, unsigned int flags))                              \
  X(cuEventDestroy, "cuEventDestroy_v2", (CUevent event))                                               \
  X(cuEventRecord, "cuEventRecord", (CUevent event, CUstream stream))                                   \
  X(cuEventQuery, "cuEventQuery", (CUevent event))

struct DriverApi {
#define ZEROHOP_DECLARE(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  ZEROHOP_DRIVER_FUNCTIONS(ZEROHOP_DECLARE)
#undef ZEROHOP_DECLARE
};

// The table; every entry is callable once LoadDriver has succeeded.
extern DriverApi driver;

// Loads and initialises the driver once per process: `library` when given, else the usual places. Later calls give the
// first one's outcome. May take some 100 ms the first time. `tried` gets one line for each library that did not load.
Status LoadDriver(const std::string& library, std::vector<std::string>* tried);

// Success, or a Status that names `call` and the device ordinal.
Status CudaStatus(CUresult result, const char* call, int device = -1, std::string detail = {});

// The name and the description of a CUresult.
void Describe(CUresult result, std::string* name, std::string* text);

}  // namespace zerohop
