// Pictures as cameras store them, turned upright by their EXIF orientation.
#include "orient.cuh"

// Blocks of kTile x kTileRows threads, one for each tile of the upright picture.
extern "C" __global__ void orient_rgb8(const __grid_constant__ zerohop::OrientJob job, const uint8_t* source,
                                       uint8_t* output) {
  __shared__ zerohop::OrientTile tile;
  const int left = blockIdx.x * zerohop::kTile;
  const int top = blockIdx.y * zerohop::kTile;
  zerohop::load_tile(job, source, tile, left, top, threadIdx.x, threadIdx.y);
  __syncthreads();
  zerohop::store_tile(job, output, tile, left, top, threadIdx.x, threadIdx.y);
}
