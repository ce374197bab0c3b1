#include "executor.h"

#include <pthread.h>
#include <signal.h>

#include <deque>
#include <mutex>
#include <utility>

namespace zerohop {

namespace {

constexpr int kMaxThreads = 8;

// pthread's own condition variable: std::condition_variable::wait needs GLIBCXX_3.4.30.
struct Queue {
  std::mutex mutex;
  pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
  std::deque<std::function<void()>> work;
  int threads = 0;
  int idle = 0;
};

// Never destroyed: its threads may be blocked on it while the process exits.
Queue& TheQueue() {
  static Queue* queue = new Queue;
  return *queue;
}

void* Loop(void*) {
  Queue& queue = TheQueue();
  std::unique_lock<std::mutex> lock(queue.mutex);
  for (;;) {
    while (queue.work.empty()) {
      ++queue.idle;
      pthread_cond_wait(&queue.filled, queue.mutex.native_handle());
      --queue.idle;
    }
    std::function<void()> work = std::move(queue.work.front());
    queue.work.pop_front();
    lock.unlock();
    work();
    // What the work captured is released before the lock is taken: its destructors may queue more work.
    work = nullptr;
    lock.lock();
  }
}

}  // namespace

bool StartThread(void* (*body)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int result = pthread_create(&thread, nullptr, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (result != 0) return false;
  pthread_detach(thread);
  return true;
}

void Execute(std::function<void()> work) {
  Queue& queue = TheQueue();
  std::unique_lock<std::mutex> lock(queue.mutex);
  queue.work.push_back(std::move(work));
  if (queue.idle < static_cast<int>(queue.work.size()) && queue.threads < kMaxThreads) {
    ++queue.threads;
    if (StartThread(Loop, nullptr)) return;
    --queue.threads;
    if (queue.threads == 0) {
      // Not one thread to be had: the caller waits rather than the promise staying open for ever.
      std::function<void()> mine = std::move(queue.work.back());
      queue.work.pop_back();
      lock.unlock();
      mine();
      return;
    }
  }
  pthread_cond_signal(&queue.filled);
}

}  // namespace zerohop
