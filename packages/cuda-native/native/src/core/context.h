// Primary contexts. We never make a context of our own: a process has one per device, shared with every other CUDA
// library in it.
#pragma once

#include <atomic>

#include "driver_api.h"

namespace zerohop {

// One device and its retained primary context. There is one per ordinal and process, made on first open and kept until
// the process ends: memory and streams may refer to it without counting.
struct Context {
  int ordinal = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  // Our own work that must not wait for, or hold up, the user's streams: zeroing, uploading graphs.
  CUstream service = nullptr;
  // The error that lost the context, or 0, and the call that told of it.
  std::atomic<CUresult> lost{CUDA_SUCCESS};
  std::atomic<const char*> lost_call{""};
};

// Retains the primary context of a device; may take some 100 ms the first time.
Status OpenContext(int ordinal, Context** context);

// Waits for all work of all contexts that are open and not lost: before something is freed whose users nobody knows.
// False when that can't be found out, which is then reported (see unasked.h): nothing may be freed.
[[nodiscard]] bool SynchronizeAll();

// Whether the driver refuses every later call on a context after this error.
bool LosesContext(CUresult result);
// From now on every ContextScope of the device fails without asking the driver.
void MarkLost(int ordinal, CUresult result, const char* call);

// Makes a context current on this thread and restores what was current before; where that fails, nothing is current
// afterwards, and the failure is reported (see unasked.h).
class ContextScope {
 public:
  explicit ContextScope(const Context& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  const Status& status() const { return status_; }

 private:
  const int ordinal_;
  CUcontext previous_ = nullptr;
  bool restore_ = false;
  Status status_;
};

// After this nothing is freed any more: the driver may go before the last finalizer runs, and the process's memory goes
// with it.
void MarkExiting();
bool Exiting();

}  // namespace zerohop
