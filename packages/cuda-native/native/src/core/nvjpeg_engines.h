// The JPEG engines of a device, by nvJPEG's hardware backend.
#pragma once

#include "context.h"
#include "jpeg_frame.h"
#include "nvjpeg_decoding.h"
#include "status.h"

namespace zerohop {

// Never an error of its own: what the engines do not decode, for whatever reason, the device's processors do, and their
// answer counts. Used by one call at a time, with the context current, when nothing of the call before is under way.
class JpegEngines {
 public:
  explicit JpegEngines(const Context* context) : context_(context) {}

  // Asks nvJPEG for them. Devices without them, and old libraries, have none.
  void Open();

  // Whether such a picture is for them. nvJPEG documents baseline ones of one scan with 8 bits, 4:4:4, 4:2:2, 4:2:0 or
  // grey.
  bool Take(const JpegFrame& frame) const;

  // Enqueues the decoding; false when nvJPEG refuses, which may have enqueued a part. `data` stays until that is over.
  bool Decode(const uint8_t* data, size_t length, int format, nvjpegImage_t image, CUstream stream);

  // The picture that Decode refused was sound. Engines that do no more than refuse are left alone in the end.
  void CountRefusal() { ++refusals_; }

  // Gives up the handle and its state, which the caller destroys.
  JpegDecoding Release();

 private:
  bool Prepare(int format);

  const Context* context_;
  JpegDecoding decoding_;
  // What the state is initialised for; 0: for nothing.
  int format_ = 0;
  bool failed_ = false;
  // In a row.
  int refusals_ = 0;
};

}  // namespace zerohop
