// The CUDA driver by dlopen, through the addon's own table of its functions, so that both programs call the same ones.
#pragma once

#include "../../../packages/cuda-native/native/src/core/driver_functions.h"

namespace zerohop {

struct Driver {
#define DECLARE(name, symbol, call_class, parameters) CUresult(*name) parameters = nullptr;
  ZEROHOP_DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE
};

extern Driver driver;

// Ends the program with a line on stderr when the driver can't be used.
void LoadDriver();

// Ends the program with a line on stderr when a call failed.
void Check(CUresult result, const char* call, int line);

}  // namespace zerohop

#define CALL(name, ...) Check(driver.name(__VA_ARGS__), #name, __LINE__)
