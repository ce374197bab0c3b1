// The library: its handles, and the way to the fake driver.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "fake_nvjpeg.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct Object* objects;

const struct Driver* driver(void) {
  static struct Driver found;
  static bool known;
  pthread_mutex_lock(&mutex);
  const char* path = getenv("ZEROHOP_LIBCUDA");
  void* library = known || path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library != NULL) {
    found.observe = (FakeObserve*)dlsym(library, "fakeObserve");
    found.context = (FakeContext*)dlsym(library, "fakeContext");
    found.enqueue = (FakeEnqueue*)dlsym(library, "fakeEnqueue");
    found.drain = (FakeDrain*)dlsym(library, "fakeDrain");
    found.count = (FakeCount*)dlsym(library, "fakeCount");
    known = found.count != NULL;
  }
  const struct Driver* result = known ? &found : NULL;
  pthread_mutex_unlock(&mutex);
  return result;
}

Status enter(const char* function) { return driver() != NULL ? driver()->observe(function) : NOT_INITIALIZED; }

// The object in the list, or null.
static struct Object** find(const void* object, enum Kind kind) {
  for (struct Object** link = &objects; *link != NULL; link = &(*link)->next) {
    if (*link == object && (*link)->kind == kind) return link;
  }
  return NULL;
}

Status check_object(const void* object, enum Kind kind) {
  void* context = driver()->context();
  pthread_mutex_lock(&mutex);
  struct Object** link = find(object, kind);
  const bool same = link != NULL && (*link)->context == context;
  pthread_mutex_unlock(&mutex);
  if (context == NULL) return EXECUTION_FAILED;
  return same ? SUCCESS : INVALID_PARAMETER;
}

Status check_state(struct Object* handle, const struct State* state) {
  RETURN_IF_FAILED(check_object(handle, HANDLE));
  RETURN_IF_FAILED(check_object(state, STATE));
  return state->object.owner == handle ? SUCCESS : INVALID_PARAMETER;
}

Status make_object(enum Kind kind, size_t bytes, struct Object* owner, void* object) {
  void* context = driver()->context();
  if (context == NULL) return NOT_INITIALIZED;
  if (kind != HANDLE) RETURN_IF_FAILED(check_object(owner, HANDLE));
  struct Object* made = calloc(1, bytes);
  if (made == NULL) return ALLOCATOR_FAILURE;
  made->kind = kind;
  made->owner = owner;
  made->context = context;
  pthread_mutex_lock(&mutex);
  made->next = objects;
  objects = made;
  pthread_mutex_unlock(&mutex);
  driver()->count(context, 1);
  *(struct Object**)object = made;
  return SUCCESS;
}

Status drop_object(void* object, enum Kind kind) {
  RETURN_IF_FAILED(check_object(object, kind));
  pthread_mutex_lock(&mutex);
  struct Object** link = find(object, kind);
  bool used = false;
  for (struct Object* each = objects; each != NULL; each = each->next) used |= each->owner == object;
  if (link != NULL && !used) *link = (*link)->next;
  pthread_mutex_unlock(&mutex);
  // A handle must outlive what was made with it; another thread may have been quicker.
  if (link == NULL || used) return INVALID_PARAMETER;
  driver()->count(((struct Object*)object)->context, -1);
  return SUCCESS;
}

EXPORT Status nvjpegGetProperty(int type, int* value) {
  ENTER("nvjpegGetProperty");
  // Major, minor, patch.
  if (type < 0 || type > 2) return INVALID_PARAMETER;
  *value = type == 0 ? 13 : 0;
  return SUCCESS;
}

EXPORT Status nvjpegCreateEx(int backend, void* device_allocator, void* pinned_allocator, unsigned int flags,
                             struct Handle** handle) {
  // Before it is a call: those of devices with and without engines have the same numbers for ZEROHOP_FAKE_FAIL.
  const char* engines = getenv("ZEROHOP_FAKE_JPEG_ENGINES");
  if (backend == BACKEND_HARDWARE && (engines == NULL || *engines == '\0')) return ARCH_MISMATCH;
  ENTER("nvjpegCreateEx");
  if (handle == NULL || backend < 0 || backend > 6 || flags > 63) return INVALID_PARAMETER;
  // The fake takes no memory of the device, so it would never call them.
  if (device_allocator != NULL || pinned_allocator != NULL) return IMPLEMENTATION_NOT_SUPPORTED;
  RETURN_IF_FAILED(make_object(HANDLE, sizeof **handle, NULL, handle));
  (*handle)->backend = backend;
  return SUCCESS;
}

EXPORT Status nvjpegDestroy(struct Object* handle) {
  const Status late = enter("nvjpegDestroy");
  if (driver() == NULL) return late;
  RETURN_IF_FAILED(drop_object(handle, HANDLE));
  free(handle);
  return late;
}
