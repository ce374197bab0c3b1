#include "driver_api.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "context.h"

namespace zerohop {

DriverApi driver;

namespace {

// The soname first, so that the loader's own configuration decides; then where distributions, WSL2, containers,
// JetPack and NixOS keep it when the loader does not know.
const char* const kLibraries[] = {
    "libcuda.so.1",
#ifdef __aarch64__
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    // Jetson, JetPack 6 and older ones.
    "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",
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
  std::string failure;
  struct statx file = {};
  // dlopen would wait for a writer of a FIFO, and for a terminal's input. stat() itself is newer than our glibc floor.
  if (strchr(name, '/') != nullptr && statx(AT_FDCWD, name, 0, STATX_TYPE, &file) == 0 && !S_ISREG(file.stx_mode)) {
    failure = std::string(name) + ": not a regular file";
  } else {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    const char* error = dlerror();
    failure = error != nullptr ? error : name;
  }
  // One line each, whatever is in the name.
  std::replace(failure.begin(), failure.end(), '\n', ' ');
  tried->push_back(failure);
  return nullptr;
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
  if (library == nullptr) return Status::Unavailable("not-loaded", "");

  const char* missing = nullptr;
#define ZEROHOP_FIND(name, symbol, call_class, parameters) \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, symbol));
#define ZEROHOP_REQUIRE(name, symbol, call_class, parameters) \
  if (driver.name == nullptr && missing == nullptr) missing = symbol;
  ZEROHOP_DRIVER_FUNCTIONS(ZEROHOP_FIND)
  ZEROHOP_OPTIONAL_DRIVER_FUNCTIONS(ZEROHOP_FIND)
  ZEROHOP_DRIVER_FUNCTIONS(ZEROHOP_REQUIRE)
#undef ZEROHOP_FIND
#undef ZEROHOP_REQUIRE
  if (missing != nullptr) return Status::Unavailable("missing-symbol", missing);

  const CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS) return Status::Ok();
  std::string name;
  std::string text;
  Describe(result, &name, &text);
  Status status = Status::Unavailable("init", "cuInit failed: " + name + " (" + text + ")");
  status.code = result;
  return status;
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
  status.sticky = LosesContext(result);
  if (status.sticky) MarkLost(device, result, call);
  return status;
}

Status FreeStatus(CUresult result, const char* call, int device) {
  if (result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) return Status::Ok();
  return CudaStatus(result, call, device);
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
