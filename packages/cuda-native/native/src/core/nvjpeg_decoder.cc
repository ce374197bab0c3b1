#include "nvjpeg_decoder.h"

#include <cerrno>
#include <utility>

#include "driver_api.h"
#include "jpeg_check.h"
#include "nvjpeg_api.h"
#include "reclaim.h"
#include "unasked.h"

namespace zerohop {

namespace {

// With the context current.
Status Release(const Context& context, nvjpegJpegState_t state, nvjpegHandle_t handle) {
  Status status;
  if (state != nullptr) {
    KeepFirst(&status, NvjpegStatus(nvjpeg.nvjpegJpegStateDestroy(state), "nvjpegJpegStateDestroy", context));
  }
  if (handle != nullptr) KeepFirst(&status, NvjpegStatus(nvjpeg.nvjpegDestroy(handle), "nvjpegDestroy", context));
  return status;
}

}  // namespace

JpegDecoder::~JpegDecoder() {
  if (handle_ == nullptr) return;
  // The stream stays until then.
  Reclaim(context_, true, [context = context_, state = state_, handle = handle_, stream = stream_] {
    return Release(*context, state, handle);
  });
}

Status JpegDecoder::Create() {
  Status status = stream_->Create(0);
  if (status.ok()) status = last_.Create(false);
  if (!status.ok()) return status;
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  status = NvjpegStatus(nvjpeg.nvjpegCreateEx(NVJPEG_BACKEND_DEFAULT, nullptr, nullptr, 0, &handle_), "nvjpegCreateEx",
                        *context_, stream_->get());
  if (!status.ok()) {
    handle_ = nullptr;
    return status;
  }
  return RenewState();
}

Status JpegDecoder::RenewState() {
  Status status;
  if (state_ != nullptr) {
    status = NvjpegStatus(nvjpeg.nvjpegJpegStateDestroy(std::exchange(state_, nullptr)), "nvjpegJpegStateDestroy",
                          *context_, stream_->get());
    if (!status.ok()) return status;
  }
  status = NvjpegStatus(nvjpeg.nvjpegJpegStateCreate(handle_, &state_), "nvjpegJpegStateCreate", *context_,
                        stream_->get());
  if (!status.ok()) state_ = nullptr;
  return status;
}

Status JpegDecoder::Destroy() {
  ContextScope scope(*context_);
  // Without a context nothing was tried: the destructor will.
  if (!scope.status().ok()) return scope.status();
  Status status = Release(*context_, std::exchange(state_, nullptr), std::exchange(handle_, nullptr));
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
    const auto* begin = static_cast<const uint8_t*>(data);
    bytes_.assign(begin, begin + length);
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
  // A state in which a decode failed is not used again.
  if (failed_ || state_ == nullptr) {
    status = RenewState();
    if (!status.ok()) return status;
    failed_ = false;
  }
  const CUstream queue = stream == nullptr ? stream_->get() : stream->get();
  status = NvjpegStatus(nvjpeg.nvjpegDecode(handle_, state_, bytes_.data(), used, pixels.format, &image, queue),
                        "nvjpegDecode", *context_, queue);
  failed_ = !status.ok();
  // Also behind what a failed decode may have enqueued.
  Status marked = CudaStatus(driver.cuEventRecord(last_.get(), queue), "cuEventRecord", context_->ordinal);
  if (marked.ok()) return status;
  // Nobody can wait for it later.
  ReportUnasked(CudaStatus(driver.cuStreamSynchronize(queue), "cuStreamSynchronize", context_->ordinal));
  KeepFirst(&status, std::move(marked));
  return status;
}

}  // namespace zerohop
