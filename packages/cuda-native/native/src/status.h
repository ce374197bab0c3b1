// What every operation that can fail returns. Nothing throws, and there is no thread-local "last error".
#pragma once

#include <node_api.h>

#include <string>

namespace zerohop {

struct Status {
  enum class Source { kNone, kCuda, kSystem, kUnavailable, kSharedMemory };

  Source source = Source::kNone;
  // A CUresult, an errno, or 0.
  int code = 0;
  // The function that failed.
  const char* call = "";
  // More about it: the path, the sizes, or a reason word for kUnavailable and kSharedMemory.
  std::string reason;
  std::string detail;
  // The device ordinal, or -1.
  int device = -1;

  bool ok() const { return source == Source::kNone; }

  static Status Ok() { return {}; }
  // A failed system call; `code` is an errno.
  static Status System(const char* call, int code, std::string detail);
  // CUDA can't be used at all; `reason` is a stable word.
  static Status Unavailable(std::string reason, std::string detail);
  // A shared-memory condition with its own error code on the JS side; `reason` is a stable word.
  static Status SharedMemory(const char* call, int code, std::string reason, std::string detail);
};

// The JS error for a failed status, made by the factory that the JS side registered. Never leaves an exception pending.
napi_value MakeError(napi_env env, const Status& status);

// Throws the JS error for a failed status.
void Throw(napi_env env, const Status& status);

}  // namespace zerohop
