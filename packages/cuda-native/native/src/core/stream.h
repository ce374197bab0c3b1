// Streams: ordered work on a device.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "context.h"
#include "memory.h"
#include "status.h"

namespace zerohop {

// One half of a stream's staging buffer and the event that says when the device is done with it.
struct StagingChunk {
  std::unique_ptr<HostMemory> memory;
  CUevent event = nullptr;
  bool busy = false;
};

class Stream {
 public:
  explicit Stream(const Context* context) : context_(context) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // As with memory: dropped without Destroy(), it is destroyed on the addon's threads.
  ~Stream();

  // Lower numbers go first; the driver clamps what is outside its range.
  Status Create(int priority);
  // Blocks until its work is over.
  Status Synchronize() const;
  // Gives back the stream, its events and its staging buffers; its work must be over. May wait.
  Status Destroy();

  // An event recorded behind all work so far. It goes back by ReleaseEvent.
  Status RecordEvent(CUevent* event);
  // From any thread.
  void ReleaseEvent(CUevent event);

  const Context& context() const { return *context_; }
  CUstream get() const { return stream_; }
  // Used by one copy at a time; the JS side runs them one after the other.
  StagingChunk* staging() { return staging_; }

 private:
  const Context* context_;
  CUstream stream_ = nullptr;
  std::mutex mutex_;
  std::vector<CUevent> idle_events_;
  StagingChunk staging_[2];
};

}  // namespace zerohop
