#include "nvjpeg_decoder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "driver_api.h"
#include "jpeg_check.h"
#include "nvjpeg_api.h"
#include "reclaim.h"
#include "unasked.h"

namespace zerohop {

namespace {

// Large enough for the copy to be as fast as one of all, small enough for it to stay in the processor's cache: the C
// library copies what is larger past the cache, and checking it would have to fetch it again.
constexpr size_t kCopyBytes = size_t{256} << 10;

// With the context current.
Status Release(const Context& context, const JpegDecoding& decoding) {
  Status status;
  if (decoding.state != nullptr) {
    KeepFirst(&status, NvjpegStatus(nvjpeg.nvjpegJpegStateDestroy(decoding.state), "nvjpegJpegStateDestroy", context));
  }
  if (decoding.handle != nullptr) {
    KeepFirst(&status, NvjpegStatus(nvjpeg.nvjpegDestroy(decoding.handle), "nvjpegDestroy", context));
  }
  return status;
}

Status ReleaseBoth(const Context& context, const JpegDecoding& decoding, const JpegDecoding& engines) {
  Status status = Release(context, engines);
  KeepFirst(&status, Release(context, decoding));
  return status;
}

}  // namespace

JpegDecoder::~JpegDecoder() {
  if (decoding_.handle == nullptr) return;
  // The stream stays until then.
  Reclaim(context_, true, [context = context_, decoding = decoding_, engines = engines_.Release(), stream = stream_] {
    return ReleaseBoth(*context, decoding, engines);
  });
}

Status JpegDecoder::Create() {
  Status status = stream_->Create(0);
  if (status.ok()) status = last_.Create(false);
  if (!status.ok()) return status;
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  status = NvjpegStatus(nvjpeg.nvjpegCreateEx(NVJPEG_BACKEND_DEFAULT, nullptr, nullptr, 0, &decoding_.handle),
                        "nvjpegCreateEx", *context_, stream_->get());
  if (!status.ok()) {
    decoding_.handle = nullptr;
    return status;
  }
  status = RenewState();
  if (status.ok() && use_engines_) engines_.Open();
  return status;
}

Status JpegDecoder::RenewState() {
  Status status;
  if (decoding_.state != nullptr) {
    status = NvjpegStatus(nvjpeg.nvjpegJpegStateDestroy(std::exchange(decoding_.state, nullptr)),
                          "nvjpegJpegStateDestroy", *context_, stream_->get());
    if (!status.ok()) return status;
  }
  status = NvjpegStatus(nvjpeg.nvjpegJpegStateCreate(decoding_.handle, &decoding_.state), "nvjpegJpegStateCreate",
                        *context_, stream_->get());
  if (!status.ok()) decoding_.state = nullptr;
  return status;
}

Status JpegDecoder::DecodeOnProcessors(size_t length, int format, nvjpegImage_t* image, CUstream stream) {
  // A state in which a decode failed is not used again.
  if (failed_ || decoding_.state == nullptr) {
    Status status = RenewState();
    if (!status.ok()) return status;
  }
  Status status = NvjpegStatus(
      nvjpeg.nvjpegDecode(decoding_.handle, decoding_.state, bytes_.data(), length, format, image, stream),
      "nvjpegDecode", *context_, stream);
  failed_ = !status.ok();
  return status;
}

Status JpegDecoder::Destroy() {
  ContextScope scope(*context_);
  // Without a context nothing was tried: the destructor will.
  if (!scope.status().ok()) return scope.status();
  Status status = ReleaseBoth(*context_, std::exchange(decoding_, {}), engines_.Release());
  KeepFirst(&status, last_.Destroy());
  KeepFirst(&status, stream_->Destroy());
  return status;
}

Status JpegDecoder::Decode(const void* data, size_t length, JsMemoryGate& gate, Pixels pixels, const Stream* stream,
                           JpegFrame* frame, size_t* pitch) {
  {
    // Copied before it is checked: another thread or process may write to it.
    JsMemoryGate::Access access(gate);
    if (!access.allowed()) return Status::System("memcpy", ECANCELED, "the environment has ended");
    if (bytes_.size() < length) bytes_.resize(length);
    for (size_t at = 0; at < length; at += kCopyBytes) {
      memcpy(bytes_.data() + at, static_cast<const uint8_t*>(data) + at, std::min(kCopyBytes, length - at));
    }
  }
  size_t used = 0;
  Status status = PrepareJpeg(bytes_.data(), length, frame, &used);
  if (!status.ok()) return status;
  nvjpegImage_t image = {};
  status = LayOut("dst", frame->width, frame->height, &pixels, &image);
  if (!status.ok()) return status;
  *pitch = pixels.pitch;

  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  const CUstream queue = stream == nullptr ? stream_->get() : stream->get();
  const bool for_engines = engines_.Take(*frame);
  if (!for_engines || !engines_.Decode(bytes_.data(), used, pixels.format, image, queue)) {
    status = DecodeOnProcessors(used, pixels.format, &image, queue);
    if (for_engines && status.ok()) engines_.CountRefusal();
  }
  // Also behind what a failed decode may have enqueued.
  Status marked = CudaStatus(driver.cuEventRecord(last_.get(), queue), "cuEventRecord", context_->ordinal);
  if (marked.ok()) return status;
  // Nobody can wait for it later.
  ReportUnasked(CudaStatus(driver.cuStreamSynchronize(queue), "cuStreamSynchronize", context_->ordinal));
  KeepFirst(&status, std::move(marked));
  return status;
}

}  // namespace zerohop
