// Encoding of pictures in device memory to JPEGs.
#pragma once

#include <memory>

#include "context.h"
#include "event.h"
#include "js_memory_gate.h"
#include "nvjpeg_functions.h"
#include "nvjpeg_pixels.h"
#include "status.h"
#include "stream.h"

namespace zerohop {

struct JpegSettings {
  int width = 0;
  int height = 0;
  // 1 to 100.
  int quality = 0;
  // NVJPEG_CSS_…
  int subsampling = 0;
};

// Used by one call at a time; the JS side sees to it. Dropped without Destroy(), as the decoder.
class JpegEncoder {
 public:
  explicit JpegEncoder(const Context* context)
      : context_(context), stream_(std::make_shared<Stream>(context)), mark_(context) {}
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;
  ~JpegEncoder();

  // nvJPEG is loaded. On failure the destructor gives back what there is.
  Status Create();
  Status Destroy();

  // Encodes on the encoder's own stream and waits for it: `pixels` must be there. `length` is what Take gives.
  Status Encode(Pixels pixels, const JpegSettings& settings, size_t* length);
  // Copies the file of the last Encode to `data`, which has its length and is guarded by `gate`.
  Status Take(void* data, size_t length, JsMemoryGate& gate);

  const Context& context() const { return *context_; }

 private:
  Status Wait();

  const Context* context_;
  // Outlives what nvJPEG has enqueued there.
  std::shared_ptr<Stream> stream_;
  Event mark_;
  nvjpegHandle_t handle_ = nullptr;
  nvjpegEncoderState_t state_ = nullptr;
  nvjpegEncoderParams_t parameters_ = nullptr;
  // nvJPEG may fill it in only when the stream is there.
  size_t length_ = 0;
};

}  // namespace zerohop
