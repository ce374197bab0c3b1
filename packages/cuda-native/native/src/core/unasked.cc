#include "unasked.h"

#include <atomic>
#include <utility>

#include "context.h"

namespace zerohop {

namespace {

std::atomic<void (*)(Status)> listening{nullptr};

}  // namespace

void ReportUnasked(Status status) {
  if (status.ok() || status.refused || Exiting()) return;
  if (const auto listener = listening.load()) listener(std::move(status));
}

void ListenUnasked(void (*listener)(Status status)) { listening.store(listener); }

}  // namespace zerohop
