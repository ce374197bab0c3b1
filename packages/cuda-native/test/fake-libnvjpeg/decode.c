// Decoding: a pattern instead of pixels (fake_nvjpeg.h).
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "fake_nvjpeg.h"

EXPORT Status nvjpegJpegStateCreate(struct Object* handle, struct State** state) {
  ENTER("nvjpegJpegStateCreate");
  RETURN_IF_FAILED(make_object(STATE, sizeof **state, handle, state));
  (*state)->format = -1;
  return SUCCESS;
}

EXPORT Status nvjpegJpegStateDestroy(struct Object* state) {
  const Status late = enter("nvjpegJpegStateDestroy");
  if (driver() == NULL) return late;
  RETURN_IF_FAILED(drop_object(state, STATE));
  free(state);
  return late;
}

// One plane to be written: `samples` of each pixel, from the components named.
struct Plane {
  unsigned char* start;
  size_t pitch;
  int width, height, samples;
  int components[3];
};

struct Decoding {
  uint32_t seed;
  int count;
  struct Plane planes[3];
};

static void write_plane(const struct Plane* plane, uint32_t seed) {
  for (int y = 0; y < plane->height; ++y) {
    unsigned char* row = plane->start + (size_t)y * plane->pitch;
    for (int x = 0; x < plane->width; ++x) {
      for (int i = 0; i < plane->samples; ++i) {
        *row++ = (unsigned char)((seed >> 8 * plane->components[i]) + (uint32_t)x + 3 * (uint32_t)y);
      }
    }
  }
}

static void decode(void* argument) {
  const struct Decoding* decoding = argument;
  for (int i = 0; i < decoding->count; ++i) write_plane(&decoding->planes[i], decoding->seed);
}

static bool add_plane(struct Decoding* decoding, const struct Image* image, int channel, int width, int height) {
  struct Plane* plane = &decoding->planes[decoding->count++];
  plane->start = image->channel[channel];
  plane->pitch = image->pitch[channel];
  plane->width = width;
  plane->height = height;
  plane->samples = 1;
  plane->components[0] = channel;
  return plane->start != NULL && plane->pitch >= (size_t)width;
}

// What an output format asks for; false when the destination is not fit for it.
static bool plan(struct Decoding* decoding, const struct Headers* headers, int format, const struct Image* image) {
  const bool grey = headers->components == 1;
  if (format == FORMAT_UNCHANGED || format == FORMAT_YUV || format == FORMAT_Y) {
    const int count = format == FORMAT_Y ? 1 : headers->components;
    for (int c = 0; c < count; ++c) {
      if (!add_plane(decoding, image, c, headers->widths[c], headers->heights[c])) return false;
    }
    return true;
  }
  const bool reversed = format == FORMAT_BGR || format == FORMAT_BGRI;
  const int order[3] = {grey ? 0 : reversed ? 2 : 0, grey ? 0 : 1, grey ? 0 : reversed ? 0 : 2};
  if (format == FORMAT_RGB || format == FORMAT_BGR) {
    for (int c = 0; c < 3; ++c) {
      if (!add_plane(decoding, image, c, headers->width, headers->height)) return false;
      decoding->planes[c].components[0] = order[c];
    }
    return true;
  }
  if (!add_plane(decoding, image, 0, headers->width, headers->height)) return false;
  decoding->planes[0].samples = 3;
  memcpy(decoding->planes[0].components, order, sizeof order);
  return decoding->planes[0].pitch >= 3 * (size_t)headers->width;
}

Status start_decoding(const struct Headers* headers, const unsigned char* data, size_t length, int format,
                      const struct Image* destination, void* stream) {
  if (memmem(data + headers->scan, length - headers->scan, "\xff\xd9", 2) == NULL) return INCOMPLETE_BITSTREAM;
  if (memmem(data, headers->scan, DAMAGED, sizeof DAMAGED - 1) != NULL) return BAD_JPEG;

  struct Decoding* decoding = calloc(1, sizeof *decoding);
  if (decoding == NULL) return ALLOCATOR_FAILURE;
  if (!plan(decoding, headers, format, destination)) {
    free(decoding);
    return INVALID_PARAMETER;
  }
  // As in the real library, the file itself is needed no longer than the call takes.
  decoding->seed = hash(HASH_START, data, length);
  struct FakeWork work = {.function = decode, .release = free, .argument = decoding, .range_count = decoding->count};
  for (int i = 0; i < decoding->count; ++i) {
    const struct Plane* plane = &decoding->planes[i];
    work.ranges[i].start = plane->start;
    work.ranges[i].bytes =
        plane->pitch * (size_t)(plane->height - 1) + (size_t)plane->width * (size_t)plane->samples;
  }
  return driver()->enqueue(stream, &work) == 0 ? SUCCESS : EXECUTION_FAILED;
}

EXPORT Status nvjpegDecode(struct Object* handle, struct State* state, const unsigned char* data, size_t length,
                           int format, const struct Image* destination, void* stream) {
  ENTER("nvjpegDecode");
  RETURN_IF_FAILED(check_state(handle, state));
  if (data == NULL || destination == NULL || format < FORMAT_UNCHANGED) return INVALID_PARAMETER;
  if (format > FORMAT_BGRI) return IMPLEMENTATION_NOT_SUPPORTED;
  struct Headers headers;
  RETURN_IF_FAILED(parse(data, length, &headers));
  if (headers.subsampling == CSS_UNKNOWN) return JPEG_NOT_SUPPORTED;
  return start_decoding(&headers, data, length, format, destination, stream);
}
