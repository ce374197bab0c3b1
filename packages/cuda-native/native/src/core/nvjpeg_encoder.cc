#include "nvjpeg_encoder.h"

#include <cerrno>
#include <utility>

#include "driver_api.h"
#include "nvjpeg_api.h"
#include "reclaim.h"
#include "unasked.h"
#include "waiter.h"

namespace zerohop {

namespace {

struct Holdings {
  nvjpegHandle_t handle;
  nvjpegEncoderState_t state;
  nvjpegEncoderParams_t parameters;
};

// With the context current; the first failure.
Status Release(const Context& context, const Holdings& holdings) {
  Status first;
  const auto add = [&](nvjpegStatus_t result, const char* call) {
    KeepFirst(&first, NvjpegStatus(result, call, context));
  };
  if (holdings.parameters != nullptr) {
    add(nvjpeg.nvjpegEncoderParamsDestroy(holdings.parameters), "nvjpegEncoderParamsDestroy");
  }
  if (holdings.state != nullptr) add(nvjpeg.nvjpegEncoderStateDestroy(holdings.state), "nvjpegEncoderStateDestroy");
  if (holdings.handle != nullptr) add(nvjpeg.nvjpegDestroy(holdings.handle), "nvjpegDestroy");
  return first;
}

}  // namespace

JpegEncoder::~JpegEncoder() {
  if (handle_ == nullptr) return;
  // The stream stays until then.
  Reclaim(context_, true, [context = context_, holdings = Holdings{handle_, state_, parameters_}, stream = stream_] {
    return Release(*context, holdings);
  });
}

Status JpegEncoder::Create() {
  Status status = stream_->Create(0);
  if (status.ok()) status = mark_.Create(false);
  if (!status.ok()) return status;
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  const CUstream stream = stream_->get();
  status = NvjpegStatus(nvjpeg.nvjpegCreateEx(NVJPEG_BACKEND_DEFAULT, nullptr, nullptr, 0, &handle_), "nvjpegCreateEx",
                        *context_, stream);
  if (!status.ok()) {
    handle_ = nullptr;
    return status;
  }
  status = NvjpegStatus(nvjpeg.nvjpegEncoderStateCreate(handle_, &state_, stream), "nvjpegEncoderStateCreate", *context_,
                        stream);
  if (!status.ok()) {
    state_ = nullptr;
    return status;
  }
  status = NvjpegStatus(nvjpeg.nvjpegEncoderParamsCreate(handle_, &parameters_, stream), "nvjpegEncoderParamsCreate",
                        *context_, stream);
  if (!status.ok()) {
    parameters_ = nullptr;
    return status;
  }
  return Wait();
}

Status JpegEncoder::Destroy() {
  ContextScope scope(*context_);
  // Without a context nothing was tried: the destructor will.
  if (!scope.status().ok()) return scope.status();
  Status status = Release(*context_, {std::exchange(handle_, nullptr), std::exchange(state_, nullptr),
                                      std::exchange(parameters_, nullptr)});
  KeepFirst(&status, mark_.Destroy());
  KeepFirst(&status, stream_->Destroy());
  return status;
}

Status JpegEncoder::Wait() {
  Status status =
      CudaStatus(driver.cuEventRecord(mark_.get(), stream_->get()), "cuEventRecord", context_->ordinal);
  if (status.ok()) status = CudaStatus(PollEvent(mark_.get()), "cuEventQuery", context_->ordinal);
  // When it can't be asked, the device may be at it still.
  if (!status.ok() && !status.sticky) ReportUnasked(stream_->Synchronize());
  return status;
}

Status JpegEncoder::Encode(Pixels pixels, const JpegSettings& settings, size_t* length) {
  const bool gray = pixels.format == NVJPEG_OUTPUT_Y;
  nvjpegImage_t image = {};
  Status status = LayOut("src", settings.width, settings.height, &pixels, &image);
  if (!status.ok()) return status;
  if (gray) {
    // The one plane as red, green and blue: their weights in the luminance add up to one.
    pixels.format = NVJPEG_OUTPUT_RGB;
    for (int i = 1; i < 3; ++i) {
      image.channel[i] = image.channel[0];
      image.pitch[i] = image.pitch[0];
    }
  }
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  const CUstream stream = stream_->get();
  const auto call = [&](nvjpegStatus_t result, const char* name) {
    return NvjpegStatus(result, name, *context_, stream);
  };
  status = call(nvjpeg.nvjpegEncoderParamsSetQuality(parameters_, settings.quality, stream),
                "nvjpegEncoderParamsSetQuality");
  if (!status.ok()) return status;
  status = call(nvjpeg.nvjpegEncoderParamsSetSamplingFactors(parameters_, settings.subsampling, stream),
                "nvjpegEncoderParamsSetSamplingFactors");
  if (!status.ok()) return status;
  status = call(nvjpeg.nvjpegEncodeImage(handle_, state_, parameters_, &image, pixels.format, settings.width,
                                         settings.height, stream),
                "nvjpegEncodeImage");
  if (status.ok()) {
    status = call(nvjpeg.nvjpegEncodeRetrieveBitstream(handle_, state_, nullptr, &length_, stream),
                  "nvjpegEncodeRetrieveBitstream");
  }
  // Also after a failure: the source stays until the device has left it.
  KeepFirst(&status, Wait());
  *length = length_;
  return status;
}

Status JpegEncoder::Take(void* data, size_t length, JsMemoryGate& gate) {
  JsMemoryGate::Access access(gate);
  if (!access.allowed()) return Status::System("memcpy", ECANCELED, "the environment has ended");
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  length_ = length;
  Status status =
      NvjpegStatus(nvjpeg.nvjpegEncodeRetrieveBitstream(handle_, state_, static_cast<unsigned char*>(data), &length_,
                                                        stream_->get()),
                   "nvjpegEncodeRetrieveBitstream", *context_, stream_->get());
  // Also after a failure: `data` must not be written to later.
  KeepFirst(&status, Wait());
  return status;
}

}  // namespace zerohop
