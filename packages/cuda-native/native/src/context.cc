#include "context.h"

#include <map>
#include <mutex>

namespace zerohop {

namespace {

std::atomic<bool> exiting{false};

struct Contexts {
  std::mutex mutex;
  std::map<int, Context*> open;
};

Contexts& All() {
  static Contexts* contexts = new Contexts;
  return *contexts;
}

}  // namespace

Status OpenContext(int ordinal, Context** result) {
  Contexts& contexts = All();
  std::lock_guard<std::mutex> lock(contexts.mutex);
  const auto found = contexts.open.find(ordinal);
  if (found != contexts.open.end()) {
    *result = found->second;
    return Status::Ok();
  }
  auto context = std::make_unique<Context>();
  context->ordinal = ordinal;
  Status status = CudaStatus(driver.cuDeviceGet(&context->device, ordinal), "cuDeviceGet", ordinal);
  if (!status.ok()) return status;
  status = CudaStatus(driver.cuDevicePrimaryCtxRetain(&context->context, context->device), "cuDevicePrimaryCtxRetain",
                      ordinal);
  if (!status.ok()) return status;
  {
    ContextScope scope(*context);
    if (!scope.status().ok()) return scope.status();
    status =
        CudaStatus(driver.cuStreamCreate(&context->service, CU_STREAM_NON_BLOCKING), "cuStreamCreate", ordinal);
    if (!status.ok()) return status;
  }
  *result = context.get();
  contexts.open.emplace(ordinal, context.release());
  return Status::Ok();
}

ContextScope::ContextScope(const Context& context) {
  status_ = CudaStatus(driver.cuCtxGetCurrent(&previous_), "cuCtxGetCurrent", context.ordinal);
  if (!status_.ok() || previous_ == context.context) return;
  status_ = CudaStatus(driver.cuCtxSetCurrent(context.context), "cuCtxSetCurrent", context.ordinal);
  restore_ = status_.ok();
}

ContextScope::~ContextScope() {
  if (restore_) driver.cuCtxSetCurrent(previous_);
}

void MarkExiting() { exiting.store(true); }

bool Exiting() { return exiting.load(); }

}  // namespace zerohop
