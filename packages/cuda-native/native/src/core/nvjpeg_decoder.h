// Decoding of JPEGs to device memory.
#pragma once

#include <memory>
#include <vector>

#include "context.h"
#include "event.h"
#include "jpeg_frame.h"
#include "js_memory_gate.h"
#include "nvjpeg_decoding.h"
#include "nvjpeg_engines.h"
#include "nvjpeg_pixels.h"
#include "status.h"
#include "stream.h"

namespace zerohop {

// Used by one call at a time; the JS side sees to it. As with memory: dropped without Destroy(), it is destroyed on the
// addon's threads after all work of the process.
class JpegDecoder {
 public:
  // Without `use_engines` the device's JPEG engines are left alone.
  JpegDecoder(const Context* context, bool use_engines)
      : context_(context),
        use_engines_(use_engines),
        stream_(std::make_shared<Stream>(context)),
        last_(context),
        engines_(context) {}
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder();

  // nvJPEG is loaded. On failure the destructor gives back what there is.
  Status Create();
  // Its work must be over.
  Status Destroy();

  // By the device's JPEG engines where they take the picture, else by its processors. Parses and uncompresses here what
  // they don't, and enqueues the rest on `stream`, or on the decoder's own when that is null. `last()` is then recorded
  // behind it; it must be over before the next call. `gate` guards `data`, which is copied.
  Status Decode(const void* data, size_t length, JsMemoryGate& gate, Pixels pixels, const Stream* stream,
                JpegFrame* frame, size_t* pitch);

  // Blocks until the decoder's own stream is done: for when `last()` could not be asked.
  Status Synchronize() const { return stream_->Synchronize(); }

  const Context& context() const { return *context_; }
  const Event& last() const { return last_; }

 private:
  Status RenewState();
  Status DecodeOnProcessors(size_t length, int format, nvjpegImage_t* image, CUstream stream);

  const Context* context_;
  const bool use_engines_;
  // Outlives what nvJPEG has enqueued there.
  std::shared_ptr<Stream> stream_;
  Event last_;
  JpegDecoding decoding_;
  JpegEngines engines_;
  // The file, as nvJPEG sees it, at the beginning of what the largest one took.
  std::vector<uint8_t> bytes_;
  bool failed_ = false;
};

}  // namespace zerohop
