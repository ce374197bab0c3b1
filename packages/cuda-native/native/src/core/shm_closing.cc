#include "shm_closing.h"

#include <pthread.h>

#include <mutex>
#include <utility>
#include <vector>

#include "executor.h"

namespace zerohop {

namespace {

struct Parts {
  std::shared_ptr<Mapping> mapping;
  FileDescriptor lock;
};

// Never destroyed: threads may be in here while the process exits.
struct Closing {
  std::mutex mutex;
  pthread_cond_t done = PTHREAD_COND_INITIALIZER;
  std::vector<Parts> waiting;
  int running = 0;
};

Closing& TheClosing() {
  static Closing* closing = new Closing;
  return *closing;
}

// False when nothing waits.
bool CloseOne() {
  Closing& closing = TheClosing();
  std::unique_lock<std::mutex> lock(closing.mutex);
  if (closing.waiting.empty()) return false;
  Parts parts = std::move(closing.waiting.back());
  closing.waiting.pop_back();
  ++closing.running;
  lock.unlock();
  parts.mapping.reset();
  parts.lock.Reset();
  lock.lock();
  --closing.running;
  pthread_cond_broadcast(&closing.done);
  return true;
}

}  // namespace

void CloseLater(std::shared_ptr<Mapping> mapping, FileDescriptor lock) {
  Closing& closing = TheClosing();
  {
    std::lock_guard<std::mutex> guard(closing.mutex);
    closing.waiting.push_back(Parts{std::move(mapping), std::move(lock)});
  }
  Execute([] { CloseOne(); });
}

bool FinishClosing() {
  bool any = false;
  while (CloseOne()) any = true;
  Closing& closing = TheClosing();
  std::unique_lock<std::mutex> lock(closing.mutex);
  while (closing.running > 0) {
    any = true;
    pthread_cond_wait(&closing.done, closing.mutex.native_handle());
  }
  return any;
}

}  // namespace zerohop
