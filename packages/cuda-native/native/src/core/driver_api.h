// The CUDA driver as a table of functions, filled by dlopen on first use. Nothing links libcuda.
#pragma once

#include <string>
#include <vector>

#include "driver_functions.h"
#include "status.h"

namespace zerohop {

struct DriverApi {
#define ZEROHOP_DECLARE(name, symbol, call_class, parameters) CUresult(*name) parameters = nullptr;
  ZEROHOP_DRIVER_FUNCTIONS(ZEROHOP_DECLARE)
  ZEROHOP_OPTIONAL_DRIVER_FUNCTIONS(ZEROHOP_DECLARE)
#undef ZEROHOP_DECLARE
};

// The table; every entry that is not optional is callable once LoadDriver has succeeded.
extern DriverApi driver;

// Loads and initialises the driver once per process: `library` when given, else the usual places. Later calls give the
// first one's outcome. May take some 100 ms the first time. `tried` gets one line for each library that did not load.
Status LoadDriver(const std::string& library, std::vector<std::string>* tried);

// Success, or a Status that names `call` and the device ordinal. An error after which the driver refuses the context
// marks it lost (see context.h).
Status CudaStatus(CUresult result, const char* call, int device = -1, std::string detail = {});

// The same for calls that give something back: success also for what they may meet while the driver is going away with
// the process.
Status FreeStatus(CUresult result, const char* call, int device);

// The name and the description of a CUresult.
void Describe(CUresult result, std::string* name, std::string* text);

}  // namespace zerohop
