// POSIX shared memory: named regions under /dev/shm, locked by their maker for as long as they are named.
#pragma once

#include "napi_setup.h"

namespace zerohop {

void ExportSharedMemory(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
