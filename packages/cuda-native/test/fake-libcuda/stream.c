// Streams, and the threads that run their work.
#define _GNU_SOURCE
#include <stdlib.h>

#include "state.h"

// A thread serves one stream until its work is over and then waits for the next one to have some: creating a stream
// costs no thread.
struct Worker {
  struct Worker* next;
  pthread_cond_t wake;
  CUstream stream;
};

static struct Worker* idle;
static int idle_count;
// More threads than these end when they have nothing to do.
#define MOST_IDLE 16

static void serve(CUstream stream) {
  while (stream->first != NULL) {
    struct Work* work = stream->first;
    run_work(work);
    stream->first = work->next;
    --stream->object.context->pending;
    free_work(work);
    pthread_cond_broadcast(&driver_changed);
  }
  stream->running = false;
  if (stream->ending) free(stream);
}

static void* loop(void* argument) {
  struct Worker* worker = argument;
  lock();
  for (;;) {
    while (worker->stream == NULL) pthread_cond_wait(&worker->wake, &driver_mutex);
    serve(worker->stream);
    if (idle_count == MOST_IDLE) break;
    worker->stream = NULL;
    worker->next = idle;
    idle = worker;
    ++idle_count;
  }
  unlock();
  pthread_cond_destroy(&worker->wake);
  free(worker);
  return NULL;
}

static bool start(CUstream stream) {
  struct Worker* worker = idle;
  if (worker != NULL) {
    idle = worker->next;
    --idle_count;
    worker->stream = stream;
    pthread_cond_signal(&worker->wake);
    return true;
  }
  worker = calloc(1, sizeof *worker);
  if (worker == NULL) return false;
  pthread_cond_init(&worker->wake, NULL);
  worker->stream = stream;
  pthread_t thread;
  if (pthread_create(&thread, NULL, loop, worker) != 0) {
    pthread_cond_destroy(&worker->wake);
    free(worker);
    return false;
  }
  pthread_detach(thread);
  return true;
}

CUresult enqueue(CUstream stream, struct Work* work) {
  if (stream->capture != NULL) return capture_work(stream, work);
  struct Work* made = clone_work(work);
  if (made == NULL) {
    // A record is the caller's as well.
    if (work->kind == LAUNCH || work->kind == CALL) drop_contents(work);
    return OUT_OF_MEMORY;
  }
  if (!stream->running && !start(stream)) {
    free_work(made);
    return OUT_OF_MEMORY;
  }
  stream->running = true;
  pin(made);
  if (stream->first == NULL) {
    stream->first = made;
  } else {
    stream->last->next = made;
  }
  stream->last = made;
  ++stream->object.context->pending;
  return SUCCESS;
}

CUresult check_stream(CUcontext current, CUstream stream) {
  if (!is_object(stream, STREAM)) return INVALID_HANDLE;
  return stream->object.context == current ? SUCCESS : INVALID_CONTEXT;
}

CUresult submit(CUcontext current, CUstream stream, struct Work* work) {
  lock();
  const CUresult result = check_stream(current, stream);
  if (result != SUCCESS) return unlocked(result);
  work->context = current;
  if (!resolve(work)) return unlocked(INVALID_VALUE);
  return unlocked(enqueue(stream, work));
}

static CUresult create(CUcontext context, CUstream* stream, unsigned int flags, int priority) {
  if (flags > 1) return INVALID_VALUE;
  struct Stream* made = calloc(1, sizeof *made);
  if (made == NULL) return OUT_OF_MEMORY;
  made->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
  lock();
  add_object(&made->object, STREAM, context);
  unlock();
  *stream = made;
  return SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamCreate", context);
  return create(context, stream, flags, 0);
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamCreateWithPriority", context);
  return create(context, stream, flags, priority);
}

EXPORT CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamGetPriority", context);
  lock();
  const CUresult result = check_stream(context, stream);
  if (result == SUCCESS) *priority = stream->priority;
  return unlocked(result);
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  CUcontext context;
  CUresult late;
  ENTER_DESTROY("cuStreamDestroy", context, late);
  lock();
  const CUresult result = check_stream(context, stream);
  if (result != SUCCESS) return unlocked(result);
  leave_capture(stream);
  remove_object(&stream->object);
  // Does not wait: the thread frees it when it has run what is queued.
  stream->ending = true;
  if (!stream->running) free(stream);
  return unlocked(late);
}

// What the calls that ask for completion have in common; a capturing stream has none.
static CUresult ask(CUcontext context, CUstream stream) {
  RETURN_IF_FAILED(check_stream(context, stream));
  if (stream->capture == NULL) return context->failed;
  invalidate_capture(stream);
  return CAPTURE_UNSUPPORTED;
}

EXPORT CUresult cuStreamQuery(CUstream stream) {
  CUcontext context;
  ENTER_UNSAFE("cuStreamQuery", context);
  lock();
  const CUresult result = ask(context, stream);
  if (result != SUCCESS) return unlocked(result);
  return unlocked(stream->first == NULL ? SUCCESS : NOT_READY);
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  CUcontext context;
  ENTER_UNSAFE("cuStreamSynchronize", context);
  lock();
  const CUresult result = ask(context, stream);
  if (result != SUCCESS) return unlocked(result);
  while (is_object(stream, STREAM) && stream->first != NULL) pthread_cond_wait(&driver_changed, &driver_mutex);
  return unlocked(context->failed);
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamWaitEvent", context);
  if (flags != 0) return INVALID_VALUE;
  lock();
  const CUresult result = check_stream(context, stream);
  if (result != SUCCESS) return unlocked(result);
  // The event may be another device's.
  if (!is_object(event, EVENT)) return unlocked(INVALID_HANDLE);
  if (stream->capture != NULL || event->capture != 0) return unlocked(capture_wait(stream, event));
  if (event->record == NULL) return unlocked(SUCCESS);
  return unlocked(enqueue(stream, &(struct Work){.kind = WAIT, .context = context, .record = event->record}));
}
