// The CUDA driver API by dlopen: the library loads on a machine without a driver, and nothing is linked to libcuda.
// Types and constants are those of the driver's ABI.
#ifndef ZEROHOP_BENCH_CUDA_DRIVER_H_
#define ZEROHOP_BENCH_CUDA_DRIVER_H_

#include <cstddef>

#include "engine.h"

namespace zerohop_bench {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;

constexpr unsigned kStreamNonBlocking = 1;

// name, arguments
#define ZH_CUDA_FUNCTIONS(X)                                                                          \
  X(cuInit, (unsigned flags))                                                                         \
  X(cuDeviceGet, (CUdevice * device, int ordinal))                                                    \
  X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                 \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                  \
  X(cuCtxPushCurrent_v2, (CUcontext context))                                                         \
  X(cuCtxPopCurrent_v2, (CUcontext * context))                                                        \
  X(cuStreamCreate, (CUstream * stream, unsigned flags))                                              \
  X(cuStreamDestroy_v2, (CUstream stream))                                                            \
  X(cuStreamSynchronize, (CUstream stream))                                                           \
  X(cuMemAlloc_v2, (CUdeviceptr * address, size_t byte_length))                                       \
  X(cuMemFree_v2, (CUdeviceptr address))                                                              \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void* src, size_t byte_length, CUstream stream))    \
  X(cuMemcpyDtoHAsync_v2, (void* dst, CUdeviceptr src, size_t byte_length, CUstream stream))          \
  X(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t byte_length, CUstream stream))    \
  X(cuModuleLoadData, (CUmodule * module, const void* image))                                         \
  X(cuModuleUnload, (CUmodule module))                                                                \
  X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))                  \
  X(cuLaunchKernel,                                                                                   \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,    \
     void** extra))                                                                                   \
  X(cuGetErrorName, (CUresult result, const char** name))

struct CudaDriver {
#define ZH_DECLARE(name, arguments) CUresult(*name) arguments = nullptr;
  ZH_CUDA_FUNCTIONS(ZH_DECLARE)
#undef ZH_DECLARE
};

// Loads libcuda.so.1 once per process and never unloads it. On success *driver points to static storage.
Error LoadCudaDriver(const CudaDriver** driver);

Error CudaError(const CudaDriver& driver, const char* call, CUresult result);

#define ZH_CUDA(driver, name, ...)                                                              \
  do {                                                                                          \
    if (CUresult zh_result = (driver).name(__VA_ARGS__)) return CudaError(driver, #name, zh_result); \
  } while (false)

}  // namespace zerohop_bench

#endif  // ZEROHOP_BENCH_CUDA_DRIVER_H_
