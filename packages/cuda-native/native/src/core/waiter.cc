#include "waiter.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "driver_api.h"
#include "executor.h"

namespace zerohop {

namespace {

constexpr int64_t kSpinNs = 50'000;
constexpr int64_t kShortestSleepNs = 20'000;
constexpr int64_t kLongestSleepNs = 200'000;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

timespec ToTimespec(int64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

int64_t ReadSpinNs() {
  const char* text = getenv("ZEROHOP_WAIT_SPIN");
  return text != nullptr && strcmp(text, "0") == 0 ? 0 : kSpinNs;
}

// Read while the addon is loaded, which is on the JS thread: it may change the environment at any later time, and getenv
// on another thread could then read what setenv has freed.
const int64_t spin_ns = ReadSpinNs();

// A thirty-second of the time waited so far: the wait is noticed to be over at most that much late.
int64_t SleepNs(int64_t waited) { return std::clamp(waited / 32, kShortestSleepNs, kLongestSleepNs); }

struct Wait {
  const Context* context;
  CUevent event;
  std::function<void(Status)> done;
  int64_t began;
};

class Waiter {
 public:
  static Waiter& Instance() {
    static Waiter* waiter = new Waiter;
    return *waiter;
  }

  // False when there is no thread to wait.
  bool Add(Wait& wait) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!started_) started_ = StartThread(Run, this);
    if (!started_) return false;
    incoming_.push_back(std::move(wait));
    has_incoming_.store(true);
    if (asleep_) pthread_cond_signal(&changed_);
    return true;
  }

 private:
  Waiter() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed_, &attributes);
    pthread_condattr_destroy(&attributes);
  }

  static void* Run(void* self) {
    // Sleeps of 20 us would be rounded up to 70 with the default slack.
    prctl(PR_SET_TIMERSLACK, 1);
    static_cast<Waiter*>(self)->Loop();
    return nullptr;
  }

  void Loop() {
    for (;;) {
      Collect();
      // While the process exits the driver is left alone; nobody is left to hear of it.
      if (Exiting()) continue;
      Poll();
    }
  }

  // Takes the new waits. Sleeps first when there is nothing to do, or nothing that is worth spinning for.
  void Collect() {
    const int64_t now = NowNs();
    const bool spinning = now - active_ < spin_ns && !Exiting();
    if (spinning && !has_incoming_.load()) return;
    std::unique_lock<std::mutex> lock(mutex_);
    asleep_ = true;
    while (incoming_.empty() && (waits_.empty() || Exiting())) {
      pthread_cond_wait(&changed_, mutex_.native_handle());
    }
    if (incoming_.empty()) {
      const timespec until = ToTimespec(now + SleepNs(now - waits_.back().began));
      pthread_cond_timedwait(&changed_, mutex_.native_handle(), &until);
    }
    asleep_ = false;
    if (incoming_.empty()) return;
    for (Wait& wait : incoming_) waits_.push_back(std::move(wait));
    incoming_.clear();
    has_incoming_.store(false);
    active_ = NowNs();
  }

  void Poll() {
    size_t kept = 0;
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (Over(waits_[i])) {
        active_ = NowNs();
        continue;
      }
      if (kept != i) waits_[kept] = std::move(waits_[i]);
      ++kept;
    }
    waits_.resize(kept);
  }

  // Asks for one event; when it is over, however it went, says so.
  static bool Over(Wait& wait) {
    Status status;
    {
      ContextScope scope(*wait.context);
      status = scope.status();
      if (status.ok()) {
        const CUresult result = driver.cuEventQuery(wait.event);
        if (result == CUDA_ERROR_NOT_READY) return false;
        status = CudaStatus(result, "cuEventQuery", wait.context->ordinal);
      }
    }
    wait.done(std::move(status));
    return true;
  }

  std::mutex mutex_;
  pthread_cond_t changed_;
  std::vector<Wait> incoming_;
  bool started_ = false;
  bool asleep_ = false;
  std::atomic<bool> has_incoming_{false};
  // Only the thread's. In the order they began.
  std::vector<Wait> waits_;
  // When the last wait began or ended.
  int64_t active_ = 0;
};

}  // namespace

void AwaitEvent(const Context& context, CUevent event, std::function<void(Status)> done) {
  Wait wait{&context, event, std::move(done), NowNs()};
  if (!Waiter::Instance().Add(wait)) wait.done(Status::System("pthread_create", EAGAIN, "no thread to wait on"));
}

CUresult PollEvent(CUevent event) {
  const int64_t began = NowNs();
  for (;;) {
    if (Exiting()) return CUDA_ERROR_DEINITIALIZED;
    const CUresult result = driver.cuEventQuery(event);
    if (result != CUDA_ERROR_NOT_READY) return result;
    const int64_t waited = NowNs() - began;
    if (waited < spin_ns) continue;
    const timespec sleep = ToTimespec(SleepNs(waited));
    nanosleep(&sleep, nullptr);
  }
}

}  // namespace zerohop
