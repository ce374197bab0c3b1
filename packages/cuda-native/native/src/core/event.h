// Events of the user: marks in a stream's work.
#pragma once

#include "context.h"
#include "status.h"

namespace zerohop {

// As with memory: dropped without Destroy(), it is destroyed on the addon's threads.
class Event {
 public:
  explicit Event(const Context* context) : context_(context) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  Status Create(bool timing);
  // What was recorded or waits for the event goes on undisturbed.
  Status Destroy();
  // Whether everything before the last record is over.
  Status Query(bool* over) const;
  // From `start` to this event.
  Status ElapsedMs(const Event& start, float* milliseconds) const;

  const Context& context() const { return *context_; }
  CUevent get() const { return event_; }

 private:
  const Context* context_;
  CUevent event_ = nullptr;
};

Status DestroyEvent(CUevent event, int device);

}  // namespace zerohop
