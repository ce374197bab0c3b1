// Regions of POSIX shared memory.
#pragma once

#include <memory>

#include "../core/shm_region.h"
#include "external_buffer.h"

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

// A region together with the ArrayBuffer that shows it.
struct SharedRegion {
  Region region;
  std::shared_ptr<BufferOwner> buffer;
};

void ExportSharedMemory(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
