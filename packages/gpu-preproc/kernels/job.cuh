#pragma once
#include "host_device.cuh"

namespace zerohop {

/**
 * One image and where it goes. Written by src/gpu/job.ts, which has the same offsets. Components are the source's, in
 * the order of its bytes; which plane of the tensor each fills is said by its plane offset, so nothing is swapped.
 * Offsets are from the kernel's pointer arguments; strides and offsets of the output count elements.
 */
struct ImageJob {
  int64_t source_offset;    // bytes to the image's first pixel
  int64_t output_offset;    // elements to the tensor's first
  int64_t plane_offset[3];  // elements to the plane of each component
  double scale_x;           // source pixels for each placed pixel
  double scale_y;
  int32_t pitch;            // bytes from row to row
  int32_t row_stride;       // elements from row to row
  int32_t pixel_stride;     // elements from pixel to pixel
  int32_t target_width;     // the tensor's
  int32_t left;             // the picture in the tensor
  int32_t top;
  int32_t placed_width;
  int32_t placed_height;
  int32_t crop_x;           // the part of the image that is used
  int32_t crop_y;
  int32_t crop_width;
  int32_t crop_height;
  float divisor;            // values are divided by it where there is no table; 0: 16-bit sources by scale, mean, std
  float reciprocal;
  int32_t planes;           // of the tensor: 1 or 3
  int32_t nearest;          // 1: INTER_NEAREST; only in batches
  uint32_t pad[3];          // bit patterns, by component
  int32_t table_offset[3];  // entries to each component's 256
  // What not every launch needs: it lies behind, so that a cold launch waits for fewer lines of constants.
  int64_t plane_pitch;      // bytes from plane to plane; NV12: to the chroma
  int64_t tile_stride;      // elements from tile to tile
  double scale;             // 16-bit sources: of the normalisation
  int32_t tile_columns;     // direct: blockIdx.z counts tiles row by row; the last of a row ends with the crop
  int32_t tile_step_x;
  int32_t tile_step_y;
  int32_t tile_last_x;
  int32_t tile_last_y;
  int32_t image_width;      // Bayer: the whole image, in pixels
  int32_t image_height;
  int32_t first_byte;       // 4-byte pixels: where the three begin
  int32_t luma_offset;      // NV12: 16 or 0
  int32_t luma;             // NV12: 20-bit fixed point
  int32_t v_to_red;
  int32_t u_to_green;
  int32_t v_to_green;
  int32_t u_to_blue;
  int32_t red_x;            // Bayer: parity of the column and the row of the red samples
  int32_t red_y;
  float mean[3];            // by component
  float std[3];
  int32_t least;            // UINT8 and INT8 of 16-bit sources: the smallest element, 0 or -128
  int32_t element_bytes;    // of the tensor, 4, 2 or 1: `area` kernels are for all datatypes
};

static_assert(sizeof(ImageJob) == 264, "src/gpu/job.ts writes it");

constexpr int kBatch = 8;

/** Images of different sizes for one launch, of which blockIdx.z has its own. */
struct ImageJobs {
  ImageJob jobs[kBatch];
};

/** Bytes to the start of a row. */
HD int64_t row_offset(const ImageJob& job, int y) { return static_cast<int64_t>(y) * job.pitch; }

/** Three samples of a pixel, by component. */
struct Three {
  int v[3];
};

/** Where one tile begins in the image. */
struct Origin {
  int x;
  int y;
};

HD Origin origin_of(const ImageJob& job, int tile) {
  if (tile == 0) return {job.crop_x, job.crop_y};
  const int row = tile / job.tile_columns;
  const int x = (tile - row * job.tile_columns) * job.tile_step_x;
  const int y = row * job.tile_step_y;
  return {job.crop_x + (x < job.tile_last_x ? x : job.tile_last_x),
          job.crop_y + (y < job.tile_last_y ? y : job.tile_last_y)};
}

}  // namespace zerohop
