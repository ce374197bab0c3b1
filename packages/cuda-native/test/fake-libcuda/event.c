// Events.
#include <stdlib.h>

#include "state.h"

EXPORT CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  CUcontext context;
  ENTER_CONTEXT("cuEventCreate", context);
  // Interprocess events (4) are none that carry times.
  if (flags > 7 || (flags & 6) == 4) return INVALID_VALUE;
  struct Event* made = calloc(1, sizeof *made);
  if (made == NULL) return OUT_OF_MEMORY;
  made->timing = (flags & 2) == 0;
  lock();
  add_object(&made->object, EVENT, context);
  unlock();
  *event = made;
  return SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  CUcontext context;
  CUresult late;
  ENTER_DESTROY("cuEventDestroy", context, late);
  lock();
  if (!is_object(event, EVENT)) return unlocked(INVALID_HANDLE);
  if (event->object.context != context) return unlocked(INVALID_CONTEXT);
  remove_object(&event->object);
  release_record(event->record);
  free(event);
  return unlocked(late);
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuEventRecord", context);
  lock();
  const CUresult result = check_stream(context, stream);
  if (result != SUCCESS) return unlocked(result);
  if (!is_object(event, EVENT) || event->object.context != context) return unlocked(INVALID_HANDLE);
  if (stream->capture != NULL) return unlocked(capture_record(stream, event));
  struct Record* record = new_record();
  if (record == NULL) return unlocked(OUT_OF_MEMORY);
  const CUresult enqueued = enqueue(stream, &(struct Work){.kind = RECORD, .context = context, .record = record});
  if (enqueued != SUCCESS) {
    release_record(record);
    return unlocked(enqueued);
  }
  release_record(event->record);
  event->record = record;
  event->capture = 0;
  return unlocked(SUCCESS);
}

EXPORT CUresult cuEventQuery(CUevent event) {
  CUcontext context;
  ENTER_UNSAFE("cuEventQuery", context);
  lock();
  if (!is_object(event, EVENT)) return unlocked(INVALID_HANDLE);
  if (event->object.context != context) return unlocked(INVALID_CONTEXT);
  if (event->capture != 0) return unlocked(CAPTURED_EVENT);
  if (context->failed != SUCCESS) return unlocked(context->failed);
  return unlocked(event->record == NULL || event->record->reached ? SUCCESS : NOT_READY);
}

static CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  CUcontext context;
  ENTER_CONTEXT("cuEventElapsedTime", context);
  lock();
  if (!is_object(start, EVENT) || !is_object(end, EVENT)) return unlocked(INVALID_HANDLE);
  // Times of two devices' clocks are not comparable.
  if (start->object.context != context || end->object.context != context) return unlocked(INVALID_HANDLE);
  if (!start->timing || !end->timing) return unlocked(INVALID_HANDLE);
  if (start->capture != 0 || end->capture != 0) return unlocked(CAPTURED_EVENT);
  if (start->record == NULL || end->record == NULL) return unlocked(INVALID_HANDLE);
  if (context->failed != SUCCESS) return unlocked(context->failed);
  if (!start->record->reached || !end->record->reached) return unlocked(NOT_READY);
  *milliseconds = (float)((double)(end->record->ns - start->record->ns) / 1e6);
  return unlocked(SUCCESS);
}

EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}

#ifndef OLD_DRIVER
EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
#endif
