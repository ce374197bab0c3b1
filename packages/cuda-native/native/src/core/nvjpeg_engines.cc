#include "nvjpeg_engines.h"

#include <cstring>
#include <utility>

#include "nvjpeg_api.h"
#include "unasked.h"

namespace zerohop {

namespace {

// Every refusal costs a new state.
constexpr int kMostRefusals = 8;

bool IsSampled(const JpegComponent& component, int horizontal, int vertical) {
  return component.horizontal == horizontal && component.vertical == vertical;
}

}  // namespace

void JpegEngines::Open() {
  const nvjpegStatus_t result = nvjpeg.nvjpegCreateEx(NVJPEG_BACKEND_HARDWARE, nullptr, nullptr, 0, &decoding_.handle);
  if (result != NVJPEG_STATUS_SUCCESS) decoding_.handle = nullptr;
}

bool JpegEngines::Take(const JpegFrame& frame) const {
  if (decoding_.handle == nullptr || refusals_ >= kMostRefusals) return false;
  if (strcmp(ProcessName(frame), "baseline") != 0 || frame.precision != 8 || frame.scans != 1) return false;
  // Written as they usually are: 4:4:4 may also be that all components have 2 x 2.
  const auto& [first, second, third, fourth] = frame.components;
  if (frame.count == 1) return IsSampled(first, 1, 1);
  return frame.count == 3 && IsSampled(second, 1, 1) && IsSampled(third, 1, 1) &&
         (IsSampled(first, 1, 1) || IsSampled(first, 2, 1) || IsSampled(first, 2, 2));
}

// A fresh state after a failure, initialised for one picture at a time and one thread of the host's.
bool JpegEngines::Prepare(int format) {
  if (failed_ && decoding_.state != nullptr) {
    ReportUnasked(NvjpegStatus(nvjpeg.nvjpegJpegStateDestroy(std::exchange(decoding_.state, nullptr)),
                               "nvjpegJpegStateDestroy", *context_));
  }
  failed_ = false;
  if (decoding_.state == nullptr) {
    format_ = 0;
    if (nvjpeg.nvjpegJpegStateCreate(decoding_.handle, &decoding_.state) != NVJPEG_STATUS_SUCCESS) {
      decoding_.state = nullptr;
      return false;
    }
  }
  if (format_ == format) return true;
  // Also where that fails: the state is then not used again.
  format_ = format;
  const nvjpegStatus_t result = nvjpeg.nvjpegDecodeBatchedInitialize(decoding_.handle, decoding_.state, 1, 1, format);
  return result == NVJPEG_STATUS_SUCCESS;
}

bool JpegEngines::Decode(const uint8_t* data, size_t length, int format, nvjpegImage_t image, CUstream stream) {
  // Only the batched call uses the engines, also for one.
  const bool decoded = Prepare(format) && nvjpeg.nvjpegDecodeBatched(decoding_.handle, decoding_.state, &data, &length,
                                                                     &image, stream) == NVJPEG_STATUS_SUCCESS;
  failed_ = !decoded;
  if (decoded) refusals_ = 0;
  return decoded;
}

JpegDecoding JpegEngines::Release() { return std::exchange(decoding_, {}); }

}  // namespace zerohop
