#include "nvjpeg_api.h"

#include <dlfcn.h>

#include <mutex>

namespace zerohop {

NvjpegApi nvjpeg;

namespace {

// The sonames first, so that the loader's own configuration decides (PyPI's wheels are found by LD_LIBRARY_PATH); then
// where toolkits lie that the loader does not know.
const char* const kLibraries[] = {
    "libnvjpeg.so.13",
    "libnvjpeg.so.12",
    "libnvjpeg.so.11",
    "/usr/local/cuda/lib64/libnvjpeg.so",
#ifdef __aarch64__
    "/usr/local/cuda/targets/sbsa-linux/lib/libnvjpeg.so",
    "/usr/local/cuda/targets/aarch64-linux/lib/libnvjpeg.so",
#else
    "/usr/local/cuda/targets/x86_64-linux/lib/libnvjpeg.so",
#endif
    "/usr/local/cuda/lib64/libnvjpeg.so.13",
    "/usr/local/cuda/lib64/libnvjpeg.so.12",
    "/usr/local/cuda/lib64/libnvjpeg.so.11",
    "/opt/cuda/lib64/libnvjpeg.so",
};

Status Unavailable(const char* reason, const std::string& detail) {
  Status status = Status::Unavailable(reason, detail);
  status.source = Status::Source::kNvjpeg;
  return status;
}

void* Open(const char* name, std::string* tried) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    *tried += std::string("\n") + (error != nullptr ? error : name);
  }
  return library;
}

Status Load(const std::string& wanted, NvjpegLibrary* found) {
  std::string tried;
  void* library = nullptr;
  if (!wanted.empty()) {
    library = Open(wanted.c_str(), &tried);
  } else {
    for (const char* name : kLibraries) {
      library = Open(name, &tried);
      if (library != nullptr) break;
    }
  }
  if (library == nullptr) return Unavailable("no-library", "libnvjpeg could not be loaded" + tried);

  const char* missing = nullptr;
#define ZEROHOP_FIND(name, call_class, parameters)                            \
  nvjpeg.name = reinterpret_cast<decltype(nvjpeg.name)>(dlsym(library, #name)); \
  if (nvjpeg.name == nullptr && missing == nullptr) missing = #name;
  ZEROHOP_NVJPEG_FUNCTIONS(ZEROHOP_FIND)
#undef ZEROHOP_FIND
  if (missing != nullptr) return Unavailable("library-too-old", std::string("the library has no ") + missing);

  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(nvjpeg.nvjpegGetProperty), &info) != 0 && info.dli_fname != nullptr) {
    found->path = info.dli_fname;
  }
  // libraryPropertyType: major, minor, patch.
  for (int type = 0; type < 3; ++type) {
    int value = 0;
    const nvjpegStatus_t result = nvjpeg.nvjpegGetProperty(type, &value);
    if (result != NVJPEG_STATUS_SUCCESS) {
      return Unavailable("library-too-old", "nvjpegGetProperty failed: nvjpegStatus_t " + std::to_string(result));
    }
    found->version += (type == 0 ? "" : ".") + std::to_string(value);
  }
  return Status::Ok();
}

// The outcome of the one attempt; never destroyed, like the driver's.
struct Outcome {
  std::mutex mutex;
  bool tried = false;
  Status status;
  NvjpegLibrary library;
};

Outcome& TheOutcome() {
  static Outcome* outcome = new Outcome;
  return *outcome;
}

}  // namespace

Status LoadNvjpeg(const std::string& wanted, NvjpegLibrary* library) {
  Outcome& outcome = TheOutcome();
  std::lock_guard<std::mutex> lock(outcome.mutex);
  if (!outcome.tried) {
    outcome.tried = true;
    outcome.status = Load(wanted, &outcome.library);
  }
  *library = outcome.library;
  return outcome.status;
}

Status NvjpegStatus(nvjpegStatus_t result, const char* call, const Context& context) {
  if (result == NVJPEG_STATUS_SUCCESS) return Status::Ok();
  Status status;
  status.source = Status::Source::kNvjpeg;
  status.code = result;
  status.call = call;
  status.device = context.ordinal;
  return status;
}

Status NvjpegStatus(nvjpegStatus_t result, const char* call, const Context& context, CUstream stream) {
  const bool about_the_bytes = result == NVJPEG_STATUS_BAD_JPEG || result == NVJPEG_STATUS_JPEG_NOT_SUPPORTED ||
                               result == NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED ||
                               result == NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
  if (result != NVJPEG_STATUS_SUCCESS && !about_the_bytes) {
    const CUresult driver_result = driver.cuStreamQuery(stream);
    if (LosesContext(driver_result)) return CudaStatus(driver_result, call, context.ordinal);
  }
  return NvjpegStatus(result, call, context);
}

}  // namespace zerohop
