// The table of the nvJPEG functions that we call, declared here so that no header of NVIDIA's is needed.
#pragma once

#include <cstddef>

#include "driver_functions.h"

namespace zerohop {

using nvjpegStatus_t = int;
using nvjpegHandle_t = struct nvjpegHandle*;
using nvjpegJpegState_t = struct nvjpegJpegState*;
using nvjpegEncoderState_t = struct nvjpegEncoderState*;
using nvjpegEncoderParams_t = struct nvjpegEncoderParams*;

// Never given: nvJPEG allocates by itself.
struct nvjpegDevAllocator_t;
struct nvjpegPinnedAllocator_t;

struct nvjpegImage_t {
  unsigned char* channel[4];
  size_t pitch[4];
};

enum : nvjpegStatus_t {
  NVJPEG_STATUS_SUCCESS = 0,
  NVJPEG_STATUS_BAD_JPEG = 3,
  NVJPEG_STATUS_JPEG_NOT_SUPPORTED = 4,
  NVJPEG_STATUS_ALLOCATOR_FAILURE = 5,
  NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED = 9,
  NVJPEG_STATUS_INCOMPLETE_BITSTREAM = 10,
};

// nvjpegChromaSubsampling_t; nvjpegOutputFormat_t, whose values are those of nvjpegInputFormat_t too; nvjpegBackend_t
enum : int {
  NVJPEG_CSS_444 = 0,
  NVJPEG_CSS_422 = 1,
  NVJPEG_CSS_420 = 2,
  NVJPEG_CSS_GRAY = 6,
  NVJPEG_OUTPUT_Y = 2,
  NVJPEG_OUTPUT_RGB = 3,
  NVJPEG_OUTPUT_BGR = 4,
  NVJPEG_OUTPUT_RGBI = 5,
  NVJPEG_OUTPUT_BGRI = 6,
  NVJPEG_BACKEND_DEFAULT = 0,
  NVJPEG_BACKEND_HARDWARE = 3,
};

// X(name, class, parameters), as the driver's. All return nvjpegStatus_t, and all but the first may wait: they parse and
// compress on the calling thread, allocate and free.
// clang-format off
#define ZEROHOP_NVJPEG_FUNCTIONS(X)                                                                                    \
  X(nvjpegGetProperty, kPrompt, (int type, int* value))                                                                \
  X(nvjpegCreateEx, kWaits,                                                                                            \
    (int backend, nvjpegDevAllocator_t* device_allocator, nvjpegPinnedAllocator_t* pinned_allocator,                   \
     unsigned int flags, nvjpegHandle_t* handle))                                                                      \
  X(nvjpegDestroy, kWaits, (nvjpegHandle_t handle))                                                                    \
  X(nvjpegJpegStateCreate, kWaits, (nvjpegHandle_t handle, nvjpegJpegState_t* state))                                  \
  X(nvjpegJpegStateDestroy, kWaits, (nvjpegJpegState_t state))                                                         \
  X(nvjpegDecode, kWaits,                                                                                              \
    (nvjpegHandle_t handle, nvjpegJpegState_t state, const unsigned char* data, size_t length, int format,             \
     nvjpegImage_t* destination, CUstream stream))                                                                     \
  X(nvjpegDecodeBatchedInitialize, kWaits,                                                                             \
    (nvjpegHandle_t handle, nvjpegJpegState_t state, int batch_size, int max_cpu_threads, int format))                 \
  X(nvjpegDecodeBatched, kWaits,                                                                                       \
    (nvjpegHandle_t handle, nvjpegJpegState_t state, const unsigned char* const* data, const size_t* lengths,          \
     nvjpegImage_t* destinations, CUstream stream))                                                                    \
  X(nvjpegEncoderStateCreate, kWaits, (nvjpegHandle_t handle, nvjpegEncoderState_t* state, CUstream stream))           \
  X(nvjpegEncoderStateDestroy, kWaits, (nvjpegEncoderState_t state))                                                   \
  X(nvjpegEncoderParamsCreate, kWaits, (nvjpegHandle_t handle, nvjpegEncoderParams_t* parameters, CUstream stream))    \
  X(nvjpegEncoderParamsDestroy, kWaits, (nvjpegEncoderParams_t parameters))                                            \
  X(nvjpegEncoderParamsSetQuality, kWaits, (nvjpegEncoderParams_t parameters, int quality, CUstream stream))           \
  X(nvjpegEncoderParamsSetSamplingFactors, kWaits,                                                                     \
    (nvjpegEncoderParams_t parameters, int subsampling, CUstream stream))                                              \
  X(nvjpegEncodeImage, kWaits,                                                                                         \
    (nvjpegHandle_t handle, nvjpegEncoderState_t state, nvjpegEncoderParams_t parameters, const nvjpegImage_t* source, \
     int format, int width, int height, CUstream stream))                                                              \
  X(nvjpegEncodeRetrieveBitstream, kWaits,                                                                             \
    (nvjpegHandle_t handle, nvjpegEncoderState_t state, unsigned char* data, size_t* length, CUstream stream))
// clang-format on

}  // namespace zerohop
