// Copies and fills. They use live memory only: of the stream's own device, or page-locked, by whichever address.
#include "state.h"

// Pitched memory is all that lies between the first byte and the last one.
static size_t extent(size_t pitch, size_t width, size_t height) {
  return width == 0 || height == 0 ? 0 : pitch * (height - 1) + width;
}

static struct Work copy_bytes(char* to, const char* from, size_t bytes) {
  return (struct Work){.kind = COPY, .copy = {.to = to, .from = from, .width = bytes, .height = 1}};
}

// A copy of a number of bytes between two places.
static CUresult copy(CUcontext context, CUstream stream, char* to, int to_where, const char* from, int from_where,
                     size_t bytes) {
  if (to < from + bytes && from < to + bytes) return INVALID_VALUE;
  struct Work work = copy_bytes(to, from, bytes);
  add_range(&work, to, bytes, to_where, context);
  add_range(&work, from, bytes, from_where, context);
  return submit(context, stream, &work);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemcpyHtoDAsync", context);
  return copy(context, stream, (char*)to, ON_DEVICE, from, ON_HOST, bytes);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemcpyDtoHAsync", context);
  return copy(context, stream, to, ON_HOST, (const char*)from, ON_DEVICE, bytes);
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemcpyDtoDAsync", context);
  return copy(context, stream, (char*)to, ON_DEVICE, (const char*)from, ON_DEVICE, bytes);
}

EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                  size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemcpyPeerAsync", context);
  if (to_context == NULL || from_context == NULL) return INVALID_CONTEXT;
  struct Work work = copy_bytes((char*)to, (const char*)from, bytes);
  add_range(&work, (void*)to, bytes, ON_DEVICE, to_context);
  add_range(&work, (void*)from, bytes, ON_DEVICE, from_context);
  return submit(context, stream, &work);
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemsetD8Async", context);
  struct Work work = {.kind = FILL, .fill = {.to = (char*)to, .byte = byte, .bytes = bytes}};
  add_range(&work, (void*)to, bytes, ON_DEVICE, context);
  return submit(context, stream, &work);
}

// The driver's CUDA_MEMCPY2D.
struct Side {
  size_t x_in_bytes, y;
  int memory_type;
  void* host;
  CUdeviceptr device;
  void* array;
  size_t pitch;
};

struct Copy2D {
  struct Side from, to;
  size_t width_in_bytes, height;
};

enum { TYPE_HOST = 1, TYPE_DEVICE = 2 };

// Where a side begins; null when it is not valid.
static char* begin(const struct Side* side, const struct Copy2D* copy) {
  if (side->memory_type != TYPE_HOST && side->memory_type != TYPE_DEVICE) return NULL;
  if (side->x_in_bytes > side->pitch || copy->width_in_bytes > side->pitch - side->x_in_bytes) return NULL;
  size_t last;
  if (__builtin_mul_overflow(side->pitch, side->y + copy->height, &last)) return NULL;
  char* base = side->memory_type == TYPE_HOST ? side->host : (char*)side->device;
  return base == NULL ? NULL : base + side->y * side->pitch + side->x_in_bytes;
}

EXPORT CUresult cuMemcpy2DAsync_v2(const struct Copy2D* copy, CUstream stream) {
  CUcontext context;
  ENTER_CONTEXT("cuMemcpy2DAsync", context);
  const size_t width = copy->width_in_bytes;
  const size_t height = copy->height;
  struct Work work = {.kind = COPY, .copy = {.width = width, .height = height}};
  work.copy.to = begin(&copy->to, copy);
  work.copy.from = begin(&copy->from, copy);
  work.copy.to_pitch = copy->to.pitch;
  work.copy.from_pitch = copy->from.pitch;
  if (work.copy.to == NULL || work.copy.from == NULL) return INVALID_VALUE;
  add_range(&work, work.copy.to, extent(copy->to.pitch, width, height),
            copy->to.memory_type == TYPE_HOST ? ON_HOST : ON_DEVICE, context);
  add_range(&work, work.copy.from, extent(copy->from.pitch, width, height),
            copy->from.memory_type == TYPE_HOST ? ON_HOST : ON_DEVICE, context);
  return submit(context, stream, &work);
}
