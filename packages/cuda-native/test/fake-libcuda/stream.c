// Streams, the work on them, and events.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cuda.h"

struct Work {
  struct Work* next;
  char* to;
  // Null for a fill.
  const char* from;
  int byte;
  size_t bytes;
  // When set, the work is only to mark this event.
  struct Event* event;
};

struct Event {
  CUcontext context;
  // Records still to be reached.
  int pending;
  // Destroyed; freed when the last record has been reached.
  bool destroyed;
};

struct Stream {
  struct Stream* next;
  CUcontext context;
  pthread_t thread;
  // In order; the first one is being run.
  struct Work* work;
  bool ending;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct Stream* streams;
// The first error that work ended with; the calls that ask for completion report it.
static CUresult failed;

static void run(const struct Work* work) {
  const long delay = env_number("ZEROHOP_FAKE_WORK_DELAY_US", 0);
  if (delay > 0 && work->event == NULL) {
    struct timespec time = {delay / 1000000, delay % 1000000 * 1000};
    nanosleep(&time, NULL);
  }
  if (work->event != NULL) return;
  if (work->from != NULL) {
    memcpy(work->to, work->from, work->bytes);
  } else {
    memset(work->to, work->byte, work->bytes);
  }
}

static void* loop(void* argument) {
  struct Stream* stream = argument;
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (stream->work == NULL && !stream->ending) pthread_cond_wait(&changed, &mutex);
    struct Work* work = stream->work;
    if (work == NULL) break;
    pthread_mutex_unlock(&mutex);
    run(work);
    pthread_mutex_lock(&mutex);
    const CUresult code = (CUresult)env_number("ZEROHOP_FAKE_WORK_FAIL", 0);
    if (code != SUCCESS && work->event == NULL) failed = sticky(code);
    if (work->event != NULL && --work->event->pending == 0 && work->event->destroyed) free(work->event);
    stream->work = work->next;
    free(work);
    pthread_cond_broadcast(&changed);
  }
  struct Stream** link = &streams;
  while (*link != stream) link = &(*link)->next;
  *link = stream->next;
  pthread_mutex_unlock(&mutex);
  free(stream);
  return NULL;
}

static CUresult enqueue(CUstream stream, struct Work work) {
  struct Work* made = malloc(sizeof *made);
  if (made == NULL) return OUT_OF_MEMORY;
  *made = work;
  pthread_mutex_lock(&mutex);
  struct Work** last = &stream->work;
  while (*last != NULL) last = &(*last)->next;
  *last = made;
  if (work.event != NULL) ++work.event->pending;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return SUCCESS;
}

bool in_flight(const void* address, size_t bytes) {
  const char* start = address;
  const char* end = start + bytes;
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (const struct Stream* stream = streams; stream != NULL; stream = stream->next) {
    for (const struct Work* work = stream->work; work != NULL; work = work->next) {
      if (work->event != NULL) continue;
      found |= work->to < end && work->to + work->bytes > start;
      found |= work->from != NULL && work->from < end && work->from + work->bytes > start;
    }
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

void drain_streams(void) {
  pthread_mutex_lock(&mutex);
  for (struct Stream* stream = streams; stream != NULL;) {
    if (stream->work == NULL) {
      stream = stream->next;
      continue;
    }
    pthread_cond_wait(&changed, &mutex);
    stream = streams;
  }
  pthread_mutex_unlock(&mutex);
}

EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamCreate", context);
  if (flags > 1) return INVALID_VALUE;
  struct Stream* made = calloc(1, sizeof *made);
  if (made == NULL) return OUT_OF_MEMORY;
  made->context = context;
  pthread_mutex_lock(&mutex);
  made->next = streams;
  streams = made;
  pthread_mutex_unlock(&mutex);
  if (pthread_create(&made->thread, NULL, loop, made) != 0) return OUT_OF_MEMORY;
  pthread_detach(made->thread);
  *stream = made;
  return SUCCESS;
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamDestroy", context);
  pthread_mutex_lock(&mutex);
  const struct Stream* found = streams;
  while (found != NULL && found != stream) found = found->next;
  const bool valid = found != NULL && !found->ending;
  if (valid) {
    // Does not wait: the thread ends when it has run what is queued.
    stream->ending = true;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  return valid ? SUCCESS : INVALID_HANDLE;
}

EXPORT CUresult cuStreamQuery(CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamQuery", context);
  pthread_mutex_lock(&mutex);
  const CUresult result = failed != SUCCESS ? failed : stream->work == NULL ? SUCCESS : NOT_READY;
  pthread_mutex_unlock(&mutex);
  return result;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamSynchronize", context);
  pthread_mutex_lock(&mutex);
  while (stream->work != NULL) pthread_cond_wait(&changed, &mutex);
  const CUresult result = failed;
  pthread_mutex_unlock(&mutex);
  return result;
}

// Copies and fills use live memory only, and the stream's own context.
static CUresult check(CUcontext context, CUstream stream, bool valid) {
  if (context != stream->context) return INVALID_CONTEXT;
  return valid ? SUCCESS : INVALID_VALUE;
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemcpyHtoDAsync", context);
  const CUresult result =
      check(context, stream, is_live((void*)to, bytes, true) && is_live(from, bytes, false));
  if (result != SUCCESS) return result;
  return enqueue(stream, (struct Work){.to = (char*)to, .from = from, .bytes = bytes});
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemcpyDtoHAsync", context);
  const CUresult result =
      check(context, stream, is_live(to, bytes, false) && is_live((void*)from, bytes, true));
  if (result != SUCCESS) return result;
  return enqueue(stream, (struct Work){.to = to, .from = (const char*)from, .bytes = bytes});
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemcpyDtoDAsync", context);
  const CUresult result =
      check(context, stream, is_live((void*)to, bytes, true) && is_live((void*)from, bytes, true));
  if (result != SUCCESS) return result;
  return enqueue(stream, (struct Work){.to = (char*)to, .from = (const char*)from, .bytes = bytes});
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemsetD8Async", context);
  const CUresult result = check(context, stream, is_live((void*)to, bytes, true));
  if (result != SUCCESS) return result;
  return enqueue(stream, (struct Work){.to = (char*)to, .byte = byte, .bytes = bytes});
}

EXPORT CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  CUcontext context;
  ENTER_CONTEXT("cuEventCreate", context);
  if (flags > 7) return INVALID_VALUE;
  struct Event* made = calloc(1, sizeof *made);
  if (made == NULL) return OUT_OF_MEMORY;
  made->context = context;
  *event = made;
  return SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  CUcontext context;
  ENTER_CONTEXT("cuEventDestroy", context);
  pthread_mutex_lock(&mutex);
  event->destroyed = true;
  if (event->pending == 0) free(event);
  pthread_mutex_unlock(&mutex);
  return SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuEventRecord", context);
  if (event->context != stream->context) return INVALID_HANDLE;
  return enqueue(stream, (struct Work){.event = event});
}

EXPORT CUresult cuEventQuery(CUevent event) {
  CUcontext context;
  ENTER_CONTEXT("cuEventQuery", context);
  pthread_mutex_lock(&mutex);
  const CUresult result = failed != SUCCESS ? failed : event->pending == 0 ? SUCCESS : NOT_READY;
  pthread_mutex_unlock(&mutex);
  return result;
}
