// Guards the memory of ArrayBuffers against the end of their environment. A reference keeps a buffer alive while the
// environment lives; when a worker is terminated, the heap goes with all references while our threads still run.
#pragma once

#include <pthread.h>

#include <mutex>

namespace zerohop {

class JsMemoryGate {
 public:
  // On any thread: holds the gate open for one short access. False when the memory is gone.
  class Access {
   public:
    explicit Access(JsMemoryGate& gate) : gate_(gate), allowed_(gate.Enter()) {}
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access() {
      if (allowed_) gate_.Leave();
    }
    bool allowed() const { return allowed_; }

   private:
    JsMemoryGate& gate_;
    bool allowed_;
  };

  // On the JS thread, before the heap goes: waits for the accesses that have begun and allows no more.
  void Close() {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    while (active_ != 0) pthread_cond_wait(&idle_, mutex_.native_handle());
  }

 private:
  bool Enter() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return false;
    ++active_;
    return true;
  }

  void Leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--active_ == 0) pthread_cond_signal(&idle_);
  }

  std::mutex mutex_;
  pthread_cond_t idle_ = PTHREAD_COND_INITIALIZER;
  int active_ = 0;
  bool closed_ = false;
};

}  // namespace zerohop
