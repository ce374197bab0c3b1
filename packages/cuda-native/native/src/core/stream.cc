#include "stream.h"

#include <utility>

#include "driver_api.h"
#include "event.h"
#include "reclaim.h"

namespace zerohop {

namespace {

// What a stream holds in the driver; the stream itself is null when it has been destroyed.
struct Holdings {
  CUstream stream;
  std::vector<CUevent> events;
};

// With the context current.
Status Release(const Context& context, const Holdings& holdings) {
  Status first;
  for (CUevent event : holdings.events) KeepFirst(&first, DestroyEvent(event, context.ordinal));
  if (holdings.stream != nullptr) {
    KeepFirst(&first, FreeStatus(driver.cuStreamDestroy(holdings.stream), "cuStreamDestroy", context.ordinal));
  }
  return first;
}

}  // namespace

Stream::~Stream() {
  if (Exiting()) return;
  // Also after Destroy(): a wait that ended later has brought its event back.
  Holdings holdings{stream_, std::move(idle_events_)};
  for (StagingChunk& chunk : staging_) {
    if (chunk.event != nullptr) holdings.events.push_back(chunk.event);
  }
  if (holdings.stream == nullptr && holdings.events.empty()) return;
  // The staging buffers free themselves, after all work of the context.
  Reclaim(context_, false, [context = context_, holdings = std::move(holdings)] { return Release(*context, holdings); });
}

Status Stream::Create(int priority) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(driver.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, priority),
                             "cuStreamCreateWithPriority", context_->ordinal);
  if (!status.ok()) stream_ = nullptr;
  return status;
}

Status Stream::Synchronize() const {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return CudaStatus(driver.cuStreamSynchronize(stream_), "cuStreamSynchronize", context_->ordinal);
}

Status Stream::Destroy() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  Holdings holdings{std::exchange(stream_, nullptr), {}};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    holdings.events = std::move(idle_events_);
  }
  Status first;
  for (StagingChunk& chunk : staging_) {
    if (chunk.event != nullptr) holdings.events.push_back(std::exchange(chunk.event, nullptr));
    if (chunk.memory == nullptr) continue;
    KeepFirst(&first, chunk.memory->Free());
    chunk.memory.reset();
  }
  KeepFirst(&first, Release(*context_, holdings));
  return first;
}

Status Stream::RecordEvent(CUevent* event) {
  *event = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_events_.empty()) {
      *event = idle_events_.back();
      idle_events_.pop_back();
    }
  }
  const int device = context_->ordinal;
  if (*event == nullptr) {
    Status status = CudaStatus(driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate", device);
    if (!status.ok()) {
      *event = nullptr;
      return status;
    }
  }
  Status status = CudaStatus(driver.cuEventRecord(*event, stream_), "cuEventRecord", device);
  if (!status.ok()) ReleaseEvent(std::exchange(*event, nullptr));
  return status;
}

void Stream::ReleaseEvent(CUevent event) {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_events_.push_back(event);
}

}  // namespace zerohop
