// What every operation that can fail returns. Nothing throws, and there is no thread-local "last error".
#pragma once

#include <string>
#include <utility>

namespace zerohop {

struct Status {
  enum class Source { kNone, kCuda, kNvjpeg, kSystem, kUnavailable, kSharedMemory };

  Source source = Source::kNone;
  // A CUresult, an nvjpegStatus_t, an errno, or 0.
  int code = 0;
  // The function that failed.
  const char* call = "";
  // More about it: the path, the sizes, or a reason word for kUnavailable and kSharedMemory.
  std::string reason;
  std::string detail;
  // The device ordinal, or -1.
  int device = -1;
  // Only of kCuda: the context is lost. With `refused` it was lost before, by `call`, and the driver was not asked.
  bool sticky = false;
  bool refused = false;

  bool ok() const { return source == Source::kNone; }

  static Status Ok() { return {}; }
  // A failed system call; `code` is an errno.
  static Status System(const char* call, int code, std::string detail);
  // CUDA, or nvJPEG, can't be used at all; `reason` is a stable word. A `code` other than 0 is the CUresult that says why.
  static Status Unavailable(std::string reason, std::string detail);
  // A shared-memory condition with its own error code on the JS side; `reason` is a stable word.
  static Status SharedMemory(const char* call, int code, std::string reason, std::string detail);
};

// Of several things that are all tried, the first failure is told.
inline void KeepFirst(Status* first, Status next) {
  if (first->ok()) *first = std::move(next);
}

}  // namespace zerohop
