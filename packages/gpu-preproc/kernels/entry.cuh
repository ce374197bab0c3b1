#pragma once
#include "write.cuh"

// Entry points. Arguments: a job by value; then what its offsets count from: the image, the tensor, and the table of
// 3 x 256 elements or null. One thread makes one pixel (resized) or four neighbouring ones (direct) of row blockIdx.y;
// blockIdx.z is the tile, in a batch the image.

#define ZEROHOP_SINGLE(NAME, WRITE, PIXELS, SOURCE, ELEMENT)                                                          \
  extern "C" __global__ void NAME(const __grid_constant__ zerohop::ImageJob job, const uint8_t* source, void* output, \
                                  const void* table) {                                                                \
    const int x = PIXELS * (blockIdx.x * blockDim.x + threadIdx.x);                                                   \
    if (x >= job.target_width) return;                                                                                \
    zerohop::WRITE<zerohop::SOURCE, zerohop::ELEMENT>(job, source, output, table, x, blockIdx.y, blockIdx.z);         \
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
    zerohop::write_resized<zerohop::SOURCE, zerohop::ELEMENT>(job, nullptr, output, table, x, blockIdx.y, 0);        \
  }

#define ZEROHOP_SOURCE(NAME, SOURCE, ELEMENT_NAME, ELEMENT)                          \
  ZEROHOP_SINGLE(resized_##NAME##_##ELEMENT_NAME, write_resized, 1, SOURCE, ELEMENT) \
  ZEROHOP_SINGLE(direct_##NAME##_##ELEMENT_NAME, write_direct, 4, SOURCE, ELEMENT)   \
  ZEROHOP_BATCH(batch_##NAME##_##ELEMENT_NAME, SOURCE, ELEMENT)

#define ZEROHOP_FLOATS(NAME, SOURCE)         \
  ZEROHOP_SOURCE(NAME, SOURCE, f32, Float32) \
  ZEROHOP_SOURCE(NAME, SOURCE, f16, Float16)

#define ZEROHOP_ALL(NAME, SOURCE) \
  ZEROHOP_FLOATS(NAME, SOURCE)    \
  ZEROHOP_SOURCE(NAME, SOURCE, u8, Byte)
