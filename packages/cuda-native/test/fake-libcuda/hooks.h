// What the fake nvJPEG needs of the fake driver: it finds these by dlsym.
#pragma once

#include <stddef.h>

struct FakeRange {
  void* start;
  size_t bytes;
};

// A piece of work on a stream. Its ranges are device memory, else the context is lost when it would run.
struct FakeWork {
  void (*function)(void* argument);
  // Called in any case, also when the work is not enqueued.
  void (*release)(void* argument);
  void* argument;
  struct FakeRange ranges[4];
  int range_count;
};

// The switches ZEROHOP_FAKE_LOG, _CALL_DELAY_US and _FAIL for a function of another library; gives the injected code.
typedef int FakeObserve(const char* function);
// The thread's context: null when there is none, and when it is lost.
typedef void* FakeContext(void);
typedef int FakeEnqueue(void* stream, const struct FakeWork* work);
// Waits until a stream has nothing to do.
typedef void FakeDrain(void* stream);
// Counts nvJPEG's objects of a context for ZEROHOP_FAKE_REPORT.
typedef void FakeCount(void* context, long change);
