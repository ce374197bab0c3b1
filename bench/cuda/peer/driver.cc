#include "driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace zerohop {

Driver driver;

void LoadDriver() {
  const char* wanted = getenv("ZEROHOP_LIBCUDA");
  void* library = dlopen(wanted != nullptr ? wanted : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "cuda-peer: %s\n", dlerror());
    exit(1);
  }
#define FIND(name, symbol, call_class, parameters)                              \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, symbol)); \
  if (driver.name == nullptr) {                                                 \
    fprintf(stderr, "cuda-peer: the driver has no " symbol "\n");               \
    exit(1);                                                                    \
  }
  ZEROHOP_DRIVER_FUNCTIONS(FIND)
#undef FIND
}

void Check(CUresult result, const char* call, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  driver.cuGetErrorName(result, &name);
  fprintf(stderr, "cuda-peer: %s failed in line %d: %s\n", call, line, name != nullptr ? name : "unknown error");
  exit(1);
}

}  // namespace zerohop
