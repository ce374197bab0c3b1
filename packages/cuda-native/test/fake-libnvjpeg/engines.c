// Decoding by JPEG engines (fake_nvjpeg.h).
#define _GNU_SOURCE
#include <string.h>

#include "fake_nvjpeg.h"

// How many scans begin in a file: in compressed data a zero follows each 0xff.
static int count_scans(const unsigned char* data, size_t length) {
  int count = 0;
  const unsigned char* end = data + length;
  for (const unsigned char* at = data; (at = memmem(at, (size_t)(end - at), "\xff\xda", 2)) != NULL; ++at) ++count;
  return count;
}

static Status check_engines(struct Object* handle, const struct State* state) {
  RETURN_IF_FAILED(check_state(handle, state));
  return ((struct Handle*)handle)->backend == BACKEND_HARDWARE ? SUCCESS : INVALID_PARAMETER;
}

EXPORT Status nvjpegDecodeBatchedInitialize(struct Object* handle, struct State* state, int batch_size,
                                            int max_cpu_threads, int format) {
  ENTER("nvjpegDecodeBatchedInitialize");
  RETURN_IF_FAILED(check_engines(handle, state));
  if (batch_size != 1 || max_cpu_threads < 1 || format < FORMAT_UNCHANGED) return INVALID_PARAMETER;
  if (format > FORMAT_BGRI) return IMPLEMENTATION_NOT_SUPPORTED;
  state->format = format;
  return SUCCESS;
}

static Status decode_batched(const struct State* state, const unsigned char* data, size_t length,
                             const struct Image* destination, void* stream) {
  struct Headers headers;
  RETURN_IF_FAILED(parse(data, length, &headers));
  const int css = headers.subsampling;
  if (headers.process != 0xc0 || count_scans(data, length) != 1) return JPEG_NOT_SUPPORTED;
  if (css != CSS_GRAY && css != CSS_444 && css != CSS_422 && css != CSS_420) return JPEG_NOT_SUPPORTED;
  if (memmem(data, headers.scan, ODD, sizeof ODD - 1) != NULL) return IMPLEMENTATION_NOT_SUPPORTED;
  return start_decoding(&headers, data, length, state->format, destination, stream);
}

EXPORT Status nvjpegDecodeBatched(struct Object* handle, struct State* state, const unsigned char* const* data,
                                  const size_t* lengths, const struct Image* destinations, void* stream) {
  ENTER("nvjpegDecodeBatched");
  RETURN_IF_FAILED(check_engines(handle, state));
  if (data == NULL || *data == NULL || lengths == NULL || destinations == NULL) return INVALID_PARAMETER;
  if (state->format < 0 || state->failed) return INVALID_PARAMETER;
  const Status status = decode_batched(state, *data, *lengths, destinations, stream);
  state->failed = status != SUCCESS;
  return status;
}
