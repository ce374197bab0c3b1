// nvJPEG as a table of functions, filled by dlopen on first use, like the driver.
#pragma once

#include <string>

#include "context.h"
#include "nvjpeg_functions.h"
#include "status.h"

namespace zerohop {

struct NvjpegApi {
#define ZEROHOP_DECLARE(name, call_class, parameters) nvjpegStatus_t(*name) parameters = nullptr;
  ZEROHOP_NVJPEG_FUNCTIONS(ZEROHOP_DECLARE)
#undef ZEROHOP_DECLARE
};

// The table; every entry is callable once LoadNvjpeg has succeeded.
extern NvjpegApi nvjpeg;

struct NvjpegLibrary {
  // "major.minor.patch"
  std::string version;
  // Where the loader found it.
  std::string path;
};

// Loads the library once per process: `wanted` when given, else the usual places. Later calls give the first one's
// outcome. Takes milliseconds the first time; touches neither the driver nor a device.
Status LoadNvjpeg(const std::string& wanted, NvjpegLibrary* library);

// Success, or a Status that names `call`. nvJPEG does not pass on the driver's errors, so that a failure that may be one
// of the driver is looked for there: what `stream` tells then takes its place. The context is current.
Status NvjpegStatus(nvjpegStatus_t result, const char* call, const Context& context, CUstream stream);

// The same without a stream to ask.
Status NvjpegStatus(nvjpegStatus_t result, const char* call, const Context& context);

}  // namespace zerohop
