// Primary contexts. We never make a context of our own: a process has one per device, shared with every other CUDA
// library in it.
#pragma once

#include <atomic>

#include "driver_api.h"
#include "wrap.h"

namespace zerohop {

// One device and its retained primary context. There is one per ordinal and process, made on first open and kept until
// the process ends: memory and streams may refer to it without counting.
struct Context {
  int ordinal = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  // Our own work that must not wait for, or hold up, the user's streams: zeroing.
  CUstream service = nullptr;
};

// Retains the primary context of a device; may take some 100 ms the first time.
Status OpenContext(int ordinal, Context** context);

// Makes a context current on this thread and restores what was current before.
class ContextScope {
 public:
  explicit ContextScope(const Context& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  const Status& status() const { return status_; }

 private:
  CUcontext previous_ = nullptr;
  bool restore_ = false;
  Status status_;
};

// After this nothing is freed any more: the driver may go before the last finalizer runs, and the process's memory goes
// with it.
void MarkExiting();
bool Exiting();

template <>
struct TypeTag<Context> {
  static constexpr napi_type_tag value = {0x5a65726f686f7002, 0x6b0d2f81c5944e02};
};

}  // namespace zerohop
