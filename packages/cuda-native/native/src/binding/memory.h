// Device memory and page-locked host memory.
#pragma once

#include <memory>

#include "../core/memory.h"
#include "external_buffer.h"

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

// Page-locked memory, together with the ArrayBuffer that shows it unless that is a shared region's.
struct PinnedBuffer {
  std::shared_ptr<HostMemory> memory;
  std::shared_ptr<BufferOwner> owner;
};

void ExportMemory(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
