// Pieces of work: what memory they use, and running them.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "state.h"

struct Record* new_record(void) {
  struct Record* record = calloc(1, sizeof *record);
  if (record != NULL) record->references = 1;
  return record;
}

void release_record(struct Record* record) {
  if (record != NULL && --record->references == 0) free(record);
}

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void add_range(struct Work* work, const void* start, size_t bytes, int where, CUcontext context) {
  if (bytes == 0) return;
  if (work->range_count == MAX_RANGES) abort();
  work->ranges[work->range_count++] =
      (struct Range){.start = start, .bytes = bytes, .where = where, .context = context};
}

static bool fits(const struct Range* range, const struct Block* block) {
  if (block == NULL || range->bytes > block->bytes) return false;
  if ((size_t)(range->start - block->base) > block->bytes - range->bytes) return false;
  const bool host = block->kind == PINNED || block->kind == REGISTERED;
  if (range->where == ON_HOST) return host;
  // Unified addressing: page-locked memory is used by its device address too, and kernels see that of peers.
  if (host) return true;
  if (range->where == ANYWHERE && range->context->peers[block->context->ordinal]) return true;
  return block->context == range->context;
}

bool resolve(struct Work* work) {
  bool live = true;
  for (int i = 0; i < work->range_count; ++i) {
    struct Range* range = &work->ranges[i];
    struct Block* block = find_block(range->start);
    const bool same = range->serial == 0 || (block != NULL && block->serial == range->serial);
    range->block = same && fits(range, block) ? block : NULL;
    if (range->block != NULL) range->serial = block->serial;
    live &= range->block != NULL;
  }
  return live;
}

struct Work* clone_work(const struct Work* work) {
  struct Work* made = malloc(sizeof *made);
  if (made == NULL) return NULL;
  *made = *work;
  made->next = NULL;
  made->pinned = false;
  if (made->kind == RECORD || made->kind == WAIT) ++made->record->references;
  return made;
}

struct Work* clone_all(const struct Work* work) {
  struct Work* first = NULL;
  struct Work** link = &first;
  for (; work != NULL; work = work->next) {
    *link = clone_work(work);
    if (*link == NULL) {
      free_all(first);
      return NULL;
    }
    link = &(*link)->next;
  }
  return first;
}

static void use(struct Work* work, int change) {
  for (int i = 0; i < work->range_count; ++i) {
    if (work->ranges[i].block != NULL) work->ranges[i].block->users += change;
  }
  if (work->kind == KERNEL && is_object(work->kernel.function, FUNCTION)) {
    work->kernel.function->module->users += change;
  }
}

void pin(struct Work* work) {
  work->pinned = true;
  use(work, 1);
  if (work->kind == LAUNCH) {
    for (struct Work* node = work->graph.nodes; node != NULL; node = node->next) pin(node);
  }
}

void drop_contents(struct Work* work) {
  switch (work->kind) {
    case RECORD:
    case WAIT:
      release_record(work->record);
      break;
    case LAUNCH:
      free_all(work->graph.nodes);
      release_record(work->graph.previous);
      release_record(work->graph.done);
      break;
    case CALL:
      work->call.release(work->call.argument);
      break;
    default:
      break;
  }
}

void free_work(struct Work* work) {
  if (work->pinned) use(work, -1);
  drop_contents(work);
  free(work);
}

void free_all(struct Work* work) {
  while (work != NULL) {
    struct Work* next = work->next;
    free_work(work);
    work = next;
  }
}

void fail_work(CUcontext context, CUresult code) {
  if (context->failed == SUCCESS) context->failed = code;
  sticky(context, code);
}

static void copy_rows(const struct Work* work) {
  for (size_t row = 0; row < work->copy.height; ++row) {
    memcpy(work->copy.to + row * work->copy.to_pitch, work->copy.from + row * work->copy.from_pitch,
           work->copy.width);
  }
}

// Without the mutex: nothing that it uses can go meanwhile.
static CUresult execute(const struct Work* work) {
  sleep_us(env_number("ZEROHOP_FAKE_WORK_DELAY_US", 0));
  CUresult code = SUCCESS;
  switch (work->kind) {
    case COPY:
      copy_rows(work);
      break;
    case FILL:
      memset(work->fill.to, work->fill.byte, work->fill.bytes);
      break;
    case KERNEL:
      code = work->kernel.launch.kernel->run(&work->kernel.launch);
      break;
    case CALL:
      work->call.function(work->call.argument);
      break;
    default:
      abort();
  }
  const CUresult wanted = (CUresult)env_number("ZEROHOP_FAKE_WORK_FAIL", 0);
  return code != SUCCESS ? code : wanted;
}

static void await(const struct Record* record) {
  while (record != NULL && !record->reached) pthread_cond_wait(&driver_changed, &driver_mutex);
}

static void reach(struct Record* record) {
  record->reached = true;
  record->ns = now_ns();
  pthread_cond_broadcast(&driver_changed);
}

// Whether all that it uses is still what it was when it was made: a graph may be launched much later.
static bool intact(const struct Work* work) {
  for (int i = 0; i < work->range_count; ++i) {
    if (work->ranges[i].block == NULL) return false;
  }
  if (work->kind != KERNEL) return true;
  return is_object(work->kernel.function, FUNCTION) && work->kernel.function->object.serial == work->kernel.serial;
}

void run_work(struct Work* work) {
  const CUcontext context = work->context;
  switch (work->kind) {
    case RECORD:
      reach(work->record);
      return;
    case WAIT:
      await(work->record);
      return;
    case LAUNCH:
      await(work->graph.previous);
      for (struct Work* node = work->graph.nodes; node != NULL; node = node->next) run_work(node);
      reach(work->graph.done);
      return;
    default:
      break;
  }
  if (atomic_load(&context->lost) != SUCCESS) return;
  CUresult code = ILLEGAL_ADDRESS;
  if (intact(work)) {
    unlock();
    code = execute(work);
    lock();
  }
  if (code != SUCCESS) fail_work(context, code);
}
