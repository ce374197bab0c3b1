// The part of the fake driver that only the fake nvJPEG knows.
#include "hooks.h"

#include "state.h"

EXPORT int fakeObserve(const char* function) { return observe(function); }

EXPORT void* fakeContext(void) {
  const CUcontext context = current_context();
  return context != NULL && atomic_load(&context->lost) == SUCCESS ? context : NULL;
}

EXPORT int fakeEnqueue(void* stream, const struct FakeWork* wanted) {
  const CUcontext context = current_context();
  struct Work work = {.kind = CALL, .context = context};
  work.call.function = wanted->function;
  work.call.release = wanted->release;
  work.call.argument = wanted->argument;
  for (int i = 0; i < wanted->range_count; ++i) {
    add_range(&work, wanted->ranges[i].start, wanted->ranges[i].bytes, ON_DEVICE, context);
  }
  lock();
  const CUresult result = check_stream(context, stream);
  if (result != SUCCESS) {
    drop_contents(&work);
    return unlocked(result);
  }
  resolve(&work);
  return unlocked(enqueue(stream, &work));
}

EXPORT void fakeDrain(void* stream) {
  lock();
  while (is_object(stream, STREAM) && ((CUstream)stream)->first != NULL) {
    pthread_cond_wait(&driver_changed, &driver_mutex);
  }
  unlock();
}

EXPORT void fakeCount(void* context, long change) {
  lock();
  count(context, JPEG, change);
  unlock();
}
