// Copies between the device and ordinary host memory, through two page-locked chunks per stream: one is filled while
// the device works on the other. Both functions wait, so they run on the addon's threads; for the stream's earlier work
// too, which is best over by then.
#pragma once

#include <cstddef>

#include "driver_types.h"
#include "js_memory_gate.h"
#include "status.h"

namespace zerohop {

class Stream;

// Returns when the bytes are on the device. `gate` guards `src`.
Status Upload(Stream& stream, CUdeviceptr dst, const void* src, size_t size, JsMemoryGate& gate);

// Returns when the bytes are in `dst`, which `gate` guards.
Status Download(Stream& stream, void* dst, CUdeviceptr src, size_t size, JsMemoryGate& gate);

}  // namespace zerohop
