// Where the pixels of a picture lie in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver_types.h"
#include "nvjpeg_functions.h"
#include "status.h"

namespace zerohop {

// A place in device memory, and how a picture lies in it.
struct Pixels {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  // NVJPEG_OUTPUT_RGBI and BGRI (one plane of three bytes a pixel), RGB and BGR (three planes, one after the other) or Y.
  int format = NVJPEG_OUTPUT_RGBI;
  // Bytes from a row to the next; 0: no more than a row has.
  size_t pitch = 0;
};

// nvJPEG computes places in pictures with 32 bits: what has more bytes, or more of them in a plane, is refused.
constexpr uint64_t kMostBytes = INT32_MAX;

// nvJPEG's description of a picture of this size at `pixels`, whose pitch is filled in. Fails with reason "size" when it
// has not the room.
Status LayOut(const char* name, int width, int height, Pixels* pixels, nvjpegImage_t* image);

}  // namespace zerohop
