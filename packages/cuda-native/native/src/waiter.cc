#include "waiter.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "context.h"
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

// A sixteenth of the time waited so far: the wait is noticed to be over at most that much late.
int64_t SleepNs(int64_t waited) { return std::clamp(waited / 16, kShortestSleepNs, kLongestSleepNs); }

struct Wait {
  std::shared_ptr<Stream> stream;
  CUevent event;
  std::unique_ptr<Task> task;
  std::shared_ptr<Channel> channel;
  int64_t began;
};

class Waiter {
 public:
  static Waiter& Instance() {
    static Waiter* waiter = new Waiter;
    return *waiter;
  }

  void Add(Wait wait) {
    std::lock_guard<std::mutex> lock(mutex_);
    incoming_.push_back(std::move(wait));
    if (!started_) started_ = StartThread(Run, this);
    pthread_cond_signal(&changed_);
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

  // Takes the new waits; sleeps first when there is nothing to do, or nothing that is worth spinning for.
  void Collect() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (incoming_.empty() && (waits_.empty() || Exiting())) {
      pthread_cond_wait(&changed_, mutex_.native_handle());
    }
    if (incoming_.empty()) {
      const int64_t now = NowNs();
      const int64_t waited = now - waits_.back().began;
      if (waited >= kSpinNs) {
        const timespec until = ToTimespec(now + SleepNs(waited));
        pthread_cond_timedwait(&changed_, mutex_.native_handle(), &until);
      }
    }
    for (Wait& wait : incoming_) waits_.push_back(std::move(wait));
    incoming_.clear();
  }

  void Poll() {
    size_t kept = 0;
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (Over(waits_[i])) continue;
      if (kept != i) waits_[kept] = std::move(waits_[i]);
      ++kept;
    }
    waits_.resize(kept);
  }

  // Asks for one event; when it is over, however it went, settles the wait.
  static bool Over(Wait& wait) {
    const Context& context = wait.stream->context();
    ContextScope scope(context);
    Status status = scope.status();
    if (status.ok()) {
      const CUresult result = driver.cuEventQuery(wait.event);
      if (result == CUDA_ERROR_NOT_READY) return false;
      status = CudaStatus(result, "cuEventQuery", context.ordinal);
    }
    wait.stream->ReleaseEvent(wait.event);
    wait.task->status = std::move(status);
    wait.channel->Post(std::move(wait.task));
    return true;
  }

  std::mutex mutex_;
  pthread_cond_t changed_;
  std::vector<Wait> incoming_;
  bool started_ = false;
  // Only the thread's. In the order they began.
  std::vector<Wait> waits_;
};

}  // namespace

void AwaitEvent(std::shared_ptr<Stream> stream, CUevent event, std::unique_ptr<Task> task,
                std::shared_ptr<Channel> channel) {
  Waiter::Instance().Add(Wait{std::move(stream), event, std::move(task), std::move(channel), NowNs()});
}

CUresult PollEvent(CUevent event) {
  const int64_t began = NowNs();
  for (;;) {
    if (Exiting()) return CUDA_ERROR_DEINITIALIZED;
    const CUresult result = driver.cuEventQuery(event);
    if (result != CUDA_ERROR_NOT_READY) return result;
    const int64_t waited = NowNs() - began;
    if (waited < kSpinNs) continue;
    const timespec sleep = ToTimespec(SleepNs(waited));
    nanosleep(&sleep, nullptr);
  }
}

}  // namespace zerohop
