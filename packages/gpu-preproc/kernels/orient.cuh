#pragma once
#include "host_device.cuh"

namespace zerohop {

/** How an 8-bit, three-byte picture becomes upright. Written by src/gpu/orienter.ts, which has the same offsets. */
struct OrientJob {
  int64_t source_offset;  // bytes to the stored picture's first pixel
  int32_t pitch;          // its bytes from row to row
  int32_t stored_width;
  int32_t stored_height;
  int32_t width;          // upright
  int32_t height;
  int32_t transpose;      // 1: column and row change places, before the mirrors
  int32_t mirror_x;       // 1: stored columns count from the right
  int32_t mirror_y;       // 1: stored rows count from the bottom
};

static_assert(sizeof(OrientJob) == 40, "src/gpu/orienter.ts writes it");

/** A block's share of the upright picture, and how many of its rows its threads take at once. */
constexpr int kTile = 32;
constexpr int kTileRows = 8;

/** Pixels by row and column, three bytes in a word. A word between rows keeps both ways free of bank conflicts. */
struct OrientTile {
  uint32_t pixels[kTile][kTile + 1];
};

/** The stored pixel of an upright one. */
HD uint32_t stored_pixel(const OrientJob& job, const uint8_t* source, int x, int y) {
  const int column = job.transpose != 0 ? y : x;
  const int row = job.transpose != 0 ? x : y;
  const int from_x = job.mirror_x != 0 ? job.stored_width - 1 - column : column;
  const int from_y = job.mirror_y != 0 ? job.stored_height - 1 - row : row;
  const uint8_t* p = source + job.source_offset + static_cast<int64_t>(from_y) * job.pitch +
                     3 * static_cast<int64_t>(from_x);
  return load<uint8_t>(p) | load<uint8_t>(p + 1) << 8 | load<uint8_t>(p + 2) << 16;
}

/** One thread's part of reading the tile at (left, top): neighbouring threads read neighbours of a stored row. */
HD void load_tile(const OrientJob& job, const uint8_t* source, OrientTile& tile, int left, int top, int thread_x,
                  int thread_y) {
  for (int i = thread_y; i < kTile; i += kTileRows) {
    const int x = job.transpose != 0 ? i : thread_x;
    const int y = job.transpose != 0 ? thread_x : i;
    if (left + x < job.width && top + y < job.height) {
      tile.pixels[y][x] = stored_pixel(job, source, left + x, top + y);
    }
  }
}

/** One thread's part of writing it: neighbouring threads write neighbours of an upright row. */
HD void store_tile(const OrientJob& job, uint8_t* output, const OrientTile& tile, int left, int top, int thread_x,
                   int thread_y) {
  if (left + thread_x >= job.width) return;
  for (int y = thread_y; y < kTile && top + y < job.height; y += kTileRows) {
    const uint32_t pixel = tile.pixels[y][thread_x];
    uint8_t* to = output + 3 * (static_cast<int64_t>(top + y) * job.width + left + thread_x);
    for (int c = 0; c < 3; c++) to[c] = static_cast<uint8_t>(pixel >> (8 * c));
  }
}

}  // namespace zerohop
