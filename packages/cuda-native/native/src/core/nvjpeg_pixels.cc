#include "nvjpeg_pixels.h"

#include <string>

#include "jpeg_check.h"

namespace zerohop {

Status LayOut(const char* name, int width, int height, Pixels* pixels, nvjpegImage_t* image) {
  const bool interleaved = pixels->format == NVJPEG_OUTPUT_RGBI || pixels->format == NVJPEG_OUTPUT_BGRI;
  const int planes = interleaved || pixels->format == NVJPEG_OUTPUT_Y ? 1 : 3;
  const uint64_t row = static_cast<uint64_t>(width) * (interleaved ? 3 : 1);
  const std::string picture = std::to_string(width) + " x " + std::to_string(height) + " pixels";
  if (pixels->pitch == 0) pixels->pitch = row;
  if (pixels->pitch < row) {
    return JpegStatus("size", "Expected pitch of at least " + std::to_string(row) + " bytes for " + picture +
                                  " but received " + std::to_string(pixels->pitch));
  }
  // A pitch has less than 54 bits and a height 16, so that this can overflow; the memory's size can't reach so far.
  if (pixels->pitch > kMostBytes || static_cast<uint64_t>(width) * height * 3 > kMostBytes ||
      pixels->pitch * height * planes > kMostBytes) {
    return JpegStatus("unsupported", "it would take more than 2 GiB: " + picture + ", a pitch of " +
                                         std::to_string(pixels->pitch) + " bytes");
  }
  const uint64_t plane = pixels->pitch * height;
  if (plane * planes > pixels->bytes) {
    return JpegStatus("size", std::string("Expected ") + name + " of at least " + std::to_string(plane * planes) +
                                  " bytes for " + picture + " but received " + std::to_string(pixels->bytes) + " bytes");
  }
  for (int i = 0; i < planes; ++i) {
    image->channel[i] = reinterpret_cast<unsigned char*>(pixels->address + i * plane);
    image->pitch[i] = pixels->pitch;
  }
  return Status::Ok();
}

}  // namespace zerohop
