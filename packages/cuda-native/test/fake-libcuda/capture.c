// Capture: work that is enqueued to a capturing stream goes into a graph. The nodes are kept in the order they came,
// which is one that all their dependencies allow, so the graph runs them one after the other.
//
// What the driver's documentation calls potentially unsafe, and what a capture's mode may therefore forbid its thread
// or all threads, is here: allocating, freeing, registering, opening and closing IPC, and every query and
// synchronisation. A forbidden call gives CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates the capture.
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "state.h"

enum Mode { GLOBAL, THREAD_LOCAL, RELAXED };

struct Capture {
  struct Capture* next;
  unsigned long long number;
  enum Mode mode;
  pid_t thread;
  bool invalid;
  CUstream origin;
  // The origin and those that joined by a wait.
  CUstream streams;
  struct Work* nodes;
  struct Work** end;
};

static struct Capture* captures;

static void join(struct Capture* capture, CUstream stream) {
  stream->capture = capture;
  stream->captured = 0;
  stream->unjoined = stream != capture->origin;
  stream->next_captured = capture->streams;
  capture->streams = stream;
}

// Ends it; its nodes go unless they were taken.
static void drop(struct Capture* capture) {
  for (CUstream stream = capture->streams; stream != NULL; stream = stream->next_captured) stream->capture = NULL;
  struct Capture** link = &captures;
  while (*link != capture) link = &(*link)->next;
  *link = capture->next;
  free_all(capture->nodes);
  free(capture);
}

CUresult capture_work(CUstream stream, struct Work* work) {
  struct Capture* capture = stream->capture;
  if (work->kind == CALL) drop_contents(work);
  if (capture->invalid) return CAPTURE_INVALIDATED;
  if (work->kind == CALL) {
    capture->invalid = true;
    return CAPTURE_UNSUPPORTED;
  }
  // A graph that is launched becomes part of the new one.
  struct Work* made = work->kind == LAUNCH ? clone_all(work->graph.nodes) : clone_work(work);
  if (made == NULL && work->kind != LAUNCH) return OUT_OF_MEMORY;
  *capture->end = made;
  while (*capture->end != NULL) capture->end = &(*capture->end)->next;
  ++stream->captured;
  stream->unjoined = stream != capture->origin;
  return SUCCESS;
}

CUresult capture_record(CUstream stream, CUevent event) {
  if (stream->capture->invalid) return CAPTURE_INVALIDATED;
  release_record(event->record);
  event->record = NULL;
  event->capture = stream->capture->number;
  event->stream = stream;
  event->position = stream->captured;
  return SUCCESS;
}

static struct Capture* find_capture(unsigned long long number) {
  struct Capture* capture = captures;
  while (capture != NULL && capture->number != number) capture = capture->next;
  return capture;
}

static CUresult invalidate(struct Capture* capture, CUresult code) {
  capture->invalid = true;
  return code;
}

CUresult capture_wait(CUstream stream, CUevent event) {
  struct Capture* own = stream->capture;
  struct Capture* other = event->capture != 0 ? find_capture(event->capture) : NULL;
  if (own != NULL && own->invalid) return CAPTURE_INVALIDATED;
  if (own != NULL && event->capture == 0) return invalidate(own, CAPTURE_ISOLATION);
  // Of a capture that has ended.
  if (other == NULL) return own != NULL ? invalidate(own, CAPTURE_ISOLATION) : CAPTURED_EVENT;
  if (other->invalid) return CAPTURE_INVALIDATED;
  if (own != NULL && own != other) {
    other->invalid = true;
    return invalidate(own, CAPTURE_MERGE);
  }
  if (own == NULL) {
    join(other, stream);
    return SUCCESS;
  }
  // All that the other stream captured is now before this one's next work.
  if (event->stream != stream && is_object(event->stream, STREAM) && event->stream->captured == event->position) {
    event->stream->unjoined = false;
  }
  stream->unjoined = stream != own->origin;
  return SUCCESS;
}

void invalidate_capture(CUstream stream) { stream->capture->invalid = true; }

void leave_capture(CUstream stream) {
  struct Capture* capture = stream->capture;
  if (capture == NULL) return;
  if (capture->origin == stream) {
    drop(capture);
    return;
  }
  capture->invalid = true;
  CUstream* link = &capture->streams;
  while (*link != stream) link = &(*link)->next_captured;
  *link = stream->next_captured;
  stream->capture = NULL;
}

CUresult forbid_captures(void) {
  const pid_t thread = gettid();
  CUresult result = SUCCESS;
  lock();
  for (struct Capture* capture = captures; capture != NULL; capture = capture->next) {
    if (capture->mode == RELAXED || (capture->mode == THREAD_LOCAL && capture->thread != thread)) continue;
    result = invalidate(capture, CAPTURE_UNSUPPORTED);
  }
  return unlocked(result);
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamBeginCapture", context);
  if (mode < GLOBAL || mode > RELAXED) return INVALID_VALUE;
  lock();
  const CUresult result = check_stream(context, stream);
  if (result != SUCCESS) return unlocked(result);
  if (stream->capture != NULL) return unlocked(ILLEGAL_STATE);
  struct Capture* made = calloc(1, sizeof *made);
  if (made == NULL) return unlocked(OUT_OF_MEMORY);
  made->number = next_serial();
  made->mode = (enum Mode)mode;
  made->thread = gettid();
  made->origin = stream;
  made->end = &made->nodes;
  made->next = captures;
  captures = made;
  join(made, stream);
  return unlocked(SUCCESS);
}

static CUresult judge(const struct Capture* capture) {
  if (capture->invalid) return CAPTURE_INVALIDATED;
  for (const struct Stream* each = capture->streams; each != NULL; each = each->next_captured) {
    if (each->unjoined) return CAPTURE_UNJOINED;
  }
  return SUCCESS;
}

EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamEndCapture", context);
  *graph = NULL;
  lock();
  CUresult result = check_stream(context, stream);
  if (result != SUCCESS) return unlocked(result);
  struct Capture* capture = stream->capture;
  if (capture == NULL) return unlocked(ILLEGAL_STATE);
  if (capture->origin != stream) return unlocked(invalidate(capture, CAPTURE_UNMATCHED));
  if (capture->mode != RELAXED && capture->thread != gettid()) return unlocked(CAPTURE_WRONG_THREAD);
  result = judge(capture);
  if (result == SUCCESS) {
    struct Graph* made = calloc(1, sizeof *made);
    if (made != NULL) {
      made->nodes = capture->nodes;
      capture->nodes = NULL;
      add_object(&made->object, GRAPH, context);
      *graph = made;
    } else {
      result = OUT_OF_MEMORY;
    }
  }
  drop(capture);
  return unlocked(result);
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, int* status) {
  CUcontext context;
  ENTER_CONTEXT("cuStreamIsCapturing", context);
  lock();
  const CUresult result = check_stream(context, stream);
  if (result == SUCCESS) *status = stream->capture == NULL ? 0 : stream->capture->invalid ? 2 : 1;
  return unlocked(result);
}
