#include "driver_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "context.h"

namespace zerohop {

DriverApi driver;

namespace {

// The soname first, so that the loader's own configuration decides; then where distributions, WSL2, containers and
// NixOS keep it when the loader does not know.
const char* const kLibraries[] = {
    "libcuda.so.1",
#ifdef __aarch64__
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
#else
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
#endif
    "/usr/lib64/libcuda.so.1",
    "/usr/lib/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
};

void* OpenLibrary(const char* name, std::vector<std::string>* tried) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    tried->push_back(error != nullptr ? error : name);
  }
  return library;
}

Status Initialise(const std::string& wanted, std::vector<std::string>* tried) {
  void* library = nullptr;
  if (!wanted.empty()) {
    library = OpenLibrary(wanted.c_str(), tried);
  } else {
    for (const char* name : kLibraries) {
      library = OpenLibrary(name, tried);
      if (library != nullptr) break;
    }
  }
  if (library == nullptr) return Status::Unavailable("no-driver", "libcuda.so.1 could not be loaded");

  const char* missing = nullptr;
#define ZEROHOP_LOAD(name, symbol, parameters)                                  \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, symbol)); \
  if (driver.name == nullptr && missing == nullptr) missing = symbol;
  ZEROHOP_DRIVER_FUNCTIONS(ZEROHOP_LOAD)
#undef ZEROHOP_LOAD
  if (missing != nullptr) {
    return Status::Unavailable("driver-too-old", std::string("the driver has no ") + missing);
  }

  const CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS) return Status::Ok();
  std::string name;
  std::string text;
  Describe(result, &name, &text);
  const char* reason = "init-failed";
  if (result == CUDA_ERROR_NO_DEVICE) reason = "no-device";
  if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH || result == CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE) {
    reason = "driver-mismatch";
  }
  return Status::Unavailable(reason, "cuInit failed: " + name + " (" + text + ")");
}

// The outcome of the one attempt; never destroyed, because threads may read it while the process exits.
struct Outcome {
  std::mutex mutex;
  bool tried = false;
  Status status;
  std::vector<std::string> failures;
};

Outcome& TheOutcome() {
  static Outcome* outcome = new Outcome;
  return *outcome;
}

}  // namespace

Status LoadDriver(const std::string& library, std::vector<std::string>* tried) {
  Outcome& outcome = TheOutcome();
  std::lock_guard<std::mutex> lock(outcome.mutex);
  if (!outcome.tried) {
    outcome.tried = true;
    outcome.status = Initialise(library, &outcome.failures);
    // Runs before what the driver gave to atexit() itself. The JS side says so earlier, but only where the main thread
    // uses the addon: the workers' own memory is given up while they are stopped, just before.
    if (outcome.status.ok()) std::atexit(MarkExiting);
  }
  if (tried != nullptr) *tried = outcome.failures;
  return outcome.status;
}

Status CudaStatus(CUresult result, const char* call, int device, std::string detail) {
  if (result == CUDA_SUCCESS) return Status::Ok();
  Status status;
  status.source = Status::Source::kCuda;
  status.code = result;
  status.call = call;
  status.device = device;
  status.detail = std::move(detail);
  return status;
}

void Describe(CUresult result, std::string* name, std::string* text) {
  const char* found = nullptr;
  if (driver.cuGetErrorName == nullptr || driver.cuGetErrorName(result, &found) != CUDA_SUCCESS || found == nullptr) {
    *name = "CUDA_ERROR_" + std::to_string(result);
  } else {
    *name = found;
  }
  found = nullptr;
  if (driver.cuGetErrorString == nullptr || driver.cuGetErrorString(result, &found) != CUDA_SUCCESS ||
      found == nullptr) {
    *text = "the driver has no text for it";
  } else {
    *text = found;
  }
}

}  // namespace zerohop
