// Devices: what there is, and opening one.
#pragma once

#include "napi_setup.h"

namespace zerohop {

void ExportDevice(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
