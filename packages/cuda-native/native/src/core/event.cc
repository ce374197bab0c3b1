#include "event.h"

#include <utility>

#include "driver_api.h"
#include "reclaim.h"

namespace zerohop {

Status DestroyEvent(CUevent event, int device) {
  return FreeStatus(driver.cuEventDestroy(event), "cuEventDestroy", device);
}

Event::~Event() {
  if (event_ == nullptr) return;
  Reclaim(context_, false, [event = event_, device = context_->ordinal] { return DestroyEvent(event, device); });
}

Status Event::Create(bool timing) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(driver.cuEventCreate(&event_, timing ? 0U : +CU_EVENT_DISABLE_TIMING), "cuEventCreate",
                             context_->ordinal);
  if (!status.ok()) event_ = nullptr;
  return status;
}

Status Event::Destroy() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return DestroyEvent(std::exchange(event_, nullptr), context_->ordinal);
}

Status Event::Query(bool* over) const {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  const CUresult result = driver.cuEventQuery(event_);
  *over = result == CUDA_SUCCESS;
  if (result == CUDA_ERROR_NOT_READY) return Status::Ok();
  return CudaStatus(result, "cuEventQuery", context_->ordinal);
}

Status Event::ElapsedMs(const Event& start, float* milliseconds) const {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return CudaStatus(driver.cuEventElapsedTime(milliseconds, start.event_, event_), "cuEventElapsedTime",
                    context_->ordinal);
}

}  // namespace zerohop
