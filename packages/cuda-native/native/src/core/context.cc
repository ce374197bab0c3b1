#include "context.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "unasked.h"

namespace zerohop {

namespace {

std::atomic<bool> exiting{false};

struct Contexts {
  std::mutex opening;
  // Guarded by it.
  std::map<int, CUcontext> retained;
  // Guards what follows.
  std::mutex mutex;
  std::map<int, Context*> open;
};

Contexts& All() {
  static Contexts* contexts = new Contexts;
  return *contexts;
}

// The context is lost, and said so before: the driver would only repeat it.
Status Refused(const Context& context, CUresult lost) {
  Status status;
  status.source = Status::Source::kCuda;
  status.code = lost;
  status.call = context.lost_call.load();
  status.device = context.ordinal;
  status.sticky = true;
  status.refused = true;
  return status;
}

}  // namespace

Status OpenContext(int ordinal, Context** result) {
  Contexts& contexts = All();
  // One at a time, and not under the lock that an error asks for.
  std::lock_guard<std::mutex> one(contexts.opening);
  {
    std::lock_guard<std::mutex> lock(contexts.mutex);
    const auto found = contexts.open.find(ordinal);
    if (found != contexts.open.end()) {
      *result = found->second;
      return Status::Ok();
    }
  }
  auto context = std::make_unique<Context>();
  context->ordinal = ordinal;
  Status status = CudaStatus(driver.cuDeviceGet(&context->device, ordinal), "cuDeviceGet", ordinal);
  if (!status.ok()) return status;
  // Once, however often the rest of opening fails: what is retained stays so until the process ends.
  CUcontext& retained = contexts.retained[ordinal];
  if (retained == nullptr) {
    status = CudaStatus(driver.cuDevicePrimaryCtxRetain(&context->context, context->device),
                        "cuDevicePrimaryCtxRetain", ordinal);
    if (!status.ok()) return status;
    retained = context->context;
  }
  context->context = retained;
  {
    ContextScope scope(*context);
    if (!scope.status().ok()) return scope.status();
    status = CudaStatus(driver.cuStreamCreateWithPriority(&context->service, CU_STREAM_NON_BLOCKING, 0),
                        "cuStreamCreateWithPriority", ordinal);
    if (!status.ok()) return status;
  }
  std::lock_guard<std::mutex> lock(contexts.mutex);
  *result = context.release();
  contexts.open.emplace(ordinal, *result);
  return Status::Ok();
}

bool SynchronizeAll() {
  Contexts& contexts = All();
  std::vector<Context*> open;
  {
    std::lock_guard<std::mutex> lock(contexts.mutex);
    for (const auto& [ordinal, context] : contexts.open) open.push_back(context);
  }
  bool over = true;
  for (const Context* context : open) {
    ContextScope scope(*context);
    Status status = scope.status();
    if (status.ok()) status = FreeStatus(driver.cuCtxSynchronize(), "cuCtxSynchronize", context->ordinal);
    // A lost context has no work any more.
    if (!status.ok() && !status.sticky) over = false;
    ReportUnasked(std::move(status));
  }
  return over;
}

// "The context cannot be used", "process must be terminated and relaunched" in the description of CUresult.
bool LosesContext(CUresult result) {
  switch (result) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
    case 810:  // MPS_CLIENT_TERMINATED
      return true;
    default:
      return false;
  }
}

void MarkLost(int ordinal, CUresult result, const char* call) {
  Contexts& contexts = All();
  std::lock_guard<std::mutex> lock(contexts.mutex);
  const auto found = contexts.open.find(ordinal);
  if (found == contexts.open.end()) return;
  Context& context = *found->second;
  CUresult none = CUDA_SUCCESS;
  // The call first: whoever sees the error must find it.
  if (context.lost.load() == CUDA_SUCCESS) context.lost_call.store(call);
  context.lost.compare_exchange_strong(none, result);
}

ContextScope::ContextScope(const Context& context) : ordinal_(context.ordinal) {
  const CUresult lost = context.lost.load(std::memory_order_acquire);
  if (lost != CUDA_SUCCESS) {
    status_ = Refused(context, lost);
    return;
  }
  CUresult result = driver.cuCtxGetCurrent(&previous_);
  if (result != CUDA_SUCCESS) {
    status_ = CudaStatus(result, "cuCtxGetCurrent", context.ordinal);
    return;
  }
  if (previous_ == context.context) return;
  result = driver.cuCtxSetCurrent(context.context);
  if (result != CUDA_SUCCESS) status_ = CudaStatus(result, "cuCtxSetCurrent", context.ordinal);
  restore_ = result == CUDA_SUCCESS;
}

ContextScope::~ContextScope() {
  if (!restore_) return;
  const CUresult result = driver.cuCtxSetCurrent(previous_);
  if (result == CUDA_SUCCESS) return;
  ReportUnasked(FreeStatus(result, "cuCtxSetCurrent", ordinal_));
  // Its owner may have destroyed it meanwhile.
  ReportUnasked(FreeStatus(driver.cuCtxSetCurrent(nullptr), "cuCtxSetCurrent", ordinal_));
}

void MarkExiting() { exiting.store(true); }

bool Exiting() { return exiting.load(); }

}  // namespace zerohop
