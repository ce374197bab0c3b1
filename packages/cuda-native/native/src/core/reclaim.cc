#include "reclaim.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "executor.h"
#include "unasked.h"

namespace zerohop {

namespace {

struct Reclaimed {
  const Context* context;
  bool after_all_work;
  std::function<Status()> release;
};

// A thread of its own, because it waits for all work of the process, which may take for ever: nobody else's calls may wait
// behind that. Never destroyed.
class Reclaimer {
 public:
  static Reclaimer& Instance() {
    static Reclaimer* reclaimer = new Reclaimer;
    return *reclaimer;
  }

  void Add(Reclaimed reclaimed) {
    std::lock_guard<std::mutex> lock(mutex_);
    incoming_.push_back(std::move(reclaimed));
    if (Exiting()) return;
    // Where there is no thread to be had, the next one tries again.
    if (!started_) started_ = StartThread(Run, this);
    pthread_cond_signal(&filled_);
  }

 private:
  static void* Run(void* self) {
    static_cast<Reclaimer*>(self)->Loop();
    return nullptr;
  }

  void Loop() {
    // What could not be given back yet is tried again with the next thing.
    std::vector<Reclaimed> all;
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        while (incoming_.empty()) pthread_cond_wait(&filled_, mutex_.native_handle());
        for (Reclaimed& each : incoming_) all.push_back(std::move(each));
        incoming_.clear();
      }
      all = ReleaseAll(std::move(all));
    }
  }

  // Gives what is left.
  static std::vector<Reclaimed> ReleaseAll(std::vector<Reclaimed> all) {
    const bool waits = std::any_of(all.begin(), all.end(), [](const Reclaimed& each) { return each.after_all_work; });
    const bool over = waits && !Exiting() && SynchronizeAll();
    std::vector<Reclaimed> left;
    for (Reclaimed& each : all) {
      // While the process exits all stays as it is, within reach.
      if (Exiting() || !Release(each, over)) left.push_back(std::move(each));
    }
    return left;
  }

  // False when it is to be tried again.
  static bool Release(const Reclaimed& reclaimed, bool work_is_over) {
    if (reclaimed.after_all_work && !work_is_over) return false;
    ContextScope scope(*reclaimed.context);
    if (scope.status().ok()) {
      ReportUnasked(reclaimed.release());
      return true;
    }
    ReportUnasked(scope.status());
    return scope.status().sticky;
  }

  std::mutex mutex_;
  pthread_cond_t filled_ = PTHREAD_COND_INITIALIZER;
  std::vector<Reclaimed> incoming_;
  bool started_ = false;
};

}  // namespace

void Reclaim(const Context* context, bool after_all_work, std::function<Status()> release) {
  Reclaimer::Instance().Add(Reclaimed{context, after_all_work, std::move(release)});
}

}  // namespace zerohop
