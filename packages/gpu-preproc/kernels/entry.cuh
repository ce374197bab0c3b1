#pragma once
#include "area.cuh"

// Entry points. `resized`, one image with linear interpolation, and `direct`, one image or its tiles unscaled, take a
// job by value, then what its offsets count from: the image, the tensor, and the table of 3 x 256 elements or null.
// `batch` takes several jobs of any kind but tiles, and so does `area`, for its interpolation and every datatype. A
// thread makes one pixel, or in `direct` a group of neighbouring ones, of row blockIdx.y; blockIdx.z is the tile, in a
// batch the image.

#define ZEROHOP_RESIZED(NAME, SOURCE, ELEMENT)                                                                        \
  extern "C" __global__ void NAME(const __grid_constant__ zerohop::ImageJob job, const uint8_t* source, void* output, \
                                  const void* table) {                                                                \
    const int x = blockIdx.x * blockDim.x + threadIdx.x;                                                              \
    if (x >= job.target_width) return;                                                                                \
    zerohop::write_resized<zerohop::SOURCE, zerohop::ELEMENT, false>(job, source, output, table, x, blockIdx.y);      \
  }

#define ZEROHOP_DIRECT(NAME, SOURCE, ELEMENT)                                                                         \
  extern "C" __global__ void NAME(const __grid_constant__ zerohop::ImageJob job, const uint8_t* source, void* output, \
                                  const void* table) {                                                                \
    const int x = zerohop::ELEMENT::kGroup * (blockIdx.x * blockDim.x + threadIdx.x);                                 \
    if (x >= job.target_width) return;                                                                                \
    zerohop::write_direct<zerohop::SOURCE, zerohop::ELEMENT>(job, source, output, table, x, blockIdx.y, blockIdx.z);  \
  }

// Sources of a batch: the jobs' offsets are their addresses, and the pointers are there so that the launch holds them.
#define ZEROHOP_HELD \
  const void*, const void*, const void*, const void*, const void*, const void*, const void*, const void*

#define ZEROHOP_BATCH(NAME, SOURCE, ELEMENT)                                                                         \
  extern "C" __global__ void NAME(const __grid_constant__ zerohop::ImageJobs batch, void* output, const void* table, \
                                  ZEROHOP_HELD) {                                                                    \
    const zerohop::ImageJob& job = batch.jobs[blockIdx.z];                                                           \
    const int x = blockIdx.x * blockDim.x + threadIdx.x;                                                             \
    if (x >= job.target_width) return;                                                                               \
    zerohop::write_resized<zerohop::SOURCE, zerohop::ELEMENT, true>(job, nullptr, output, table, x, blockIdx.y);     \
  }

#define ZEROHOP_AREA(NAME, SOURCE)                                                                                   \
  extern "C" __global__ void NAME(const __grid_constant__ zerohop::ImageJobs batch, void* output, const void* table, \
                                  ZEROHOP_HELD) {                                                                    \
    const zerohop::ImageJob& job = batch.jobs[blockIdx.z];                                                           \
    const int x = blockIdx.x * blockDim.x + threadIdx.x;                                                             \
    if (x >= job.target_width) return;                                                                               \
    zerohop::write_area<zerohop::SOURCE>(job, nullptr, output, table, x, blockIdx.y);                                \
  }

#define ZEROHOP_SOURCE(NAME, SOURCE, ELEMENT_NAME, ELEMENT)       \
  ZEROHOP_RESIZED(resized_##NAME##_##ELEMENT_NAME, SOURCE, ELEMENT) \
  ZEROHOP_DIRECT(direct_##NAME##_##ELEMENT_NAME, SOURCE, ELEMENT)   \
  ZEROHOP_BATCH(batch_##NAME##_##ELEMENT_NAME, SOURCE, ELEMENT)

#define ZEROHOP_ALL(NAME, SOURCE)            \
  ZEROHOP_SOURCE(NAME, SOURCE, f32, Float32) \
  ZEROHOP_SOURCE(NAME, SOURCE, f16, Float16) \
  ZEROHOP_SOURCE(NAME, SOURCE, u8, Byte)     \
  ZEROHOP_AREA(area_##NAME, SOURCE)
