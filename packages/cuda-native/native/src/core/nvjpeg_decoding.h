// What nvJPEG needs for decoding.
#pragma once

#include "nvjpeg_functions.h"

namespace zerohop {

// Nobody's: whoever takes one destroys both, the state first.
struct JpegDecoding {
  // nvJPEG with one of its backends.
  nvjpegHandle_t handle = nullptr;
  nvjpegJpegState_t state = nullptr;
};

}  // namespace zerohop
