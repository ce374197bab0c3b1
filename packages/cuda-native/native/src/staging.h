// Copies between the device and ordinary host memory, through two page-locked chunks per stream: one is filled while
// the device works on the other. Both functions wait, so they run on the addon's threads.
#pragma once

#include <cstddef>

#include "driver_types.h"
#include "status.h"

namespace zerohop {

class Stream;

// Returns when the bytes are on the device.
Status Upload(Stream& stream, CUdeviceptr dst, const void* src, size_t size);

// Returns when the bytes are in `dst`.
Status Download(Stream& stream, void* dst, CUdeviceptr src, size_t size);

}  // namespace zerohop
