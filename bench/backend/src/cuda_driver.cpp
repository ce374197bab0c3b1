#include "cuda_driver.h"

#include <dlfcn.h>

#include <mutex>

namespace zerohop_bench {
namespace {

CudaDriver table;

// A C string that says what is missing, or null.
const char* FillTable() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libcuda.so.1";
#define ZH_LOOK_UP(name, arguments)                                                     \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #name)); \
  if (!table.name) return #name;
  ZH_CUDA_FUNCTIONS(ZH_LOOK_UP)
#undef ZH_LOOK_UP
  return nullptr;
}

}  // namespace

Error LoadCudaDriver(const CudaDriver** driver) {
  static std::once_flag once;
  static const char* missing = nullptr;
  std::call_once(once, [] { missing = FillTable(); });
  if (missing) return MakeError(kErrorUnsupported, "the CUDA driver is not usable here: %s was not found", missing);
  ZH_CUDA(table, cuInit, 0);
  *driver = &table;
  return nullptr;
}

Error CudaError(const CudaDriver& driver, const char* call, CUresult result) {
  const char* name = nullptr;
  if (driver.cuGetErrorName(result, &name) != 0 || !name) name = "unknown error";
  return MakeError(kErrorInternal, "%s failed: %s (%d)", call, name, result);
}

}  // namespace zerohop_bench
