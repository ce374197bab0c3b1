// nvJPEG for machines without a GPU: the functions that the addon calls. It works with the fake driver only, which it
// finds as the library that ZEROHOP_LIBCUDA names; the process must have loaded that before. The driver's switches
// ZEROHOP_FAKE_FAIL (with a nvjpegStatus_t), _CALL_DELAY_US, _LOG, _WORK_DELAY_US and _WORK_FAIL hold here too; what
// destroys and is made to fail has destroyed.
//
// Decoding reads the real headers of the JPEG. What it writes, on the stream, is a pattern of the file's bytes:
//   component c of the pixel (x, y) is (seed >> 8 * c) + x + 3 * y, modulo 256,
// where seed is the FNV-1a hash (32 bits) of the whole file and c is 0 for R or Y, 1 for G or Cb, 2 for B or Cr. A JPEG
// in shades of grey has component 0 in all colours. Chrominance is not scaled up for YUV. A file that says DAMAGED before
// its first scan is refused, as the real library refuses compressed data that make no sense.
//
// Encoding writes a JPEG that any decoder reads, all of one grey; a comment in it holds "quality Q hash H", where H is
// the FNV-1a hash of the source's rows, plane by plane, without the padding of the pitch.
//
// Without JPEG engines, as most devices are, a handle for them is refused. Switches, off when empty:
//   ZEROHOP_FAKE_JPEG_ENGINES=1  there are engines. nvjpegDecodeBatched, which needs a state that is initialised for one
//                                picture of the format, writes the same pattern. It refuses what is not baseline with one
//                                scan in grey, 4:4:4, 4:2:2 or 4:2:0, and a file that says ODD before its first scan. A state
//                                in which it has failed is of no more use.
//
// Objects belong to the context that was current when their handle was made; the other calls need the same one.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../fake-libcuda/hooks.h"

#define EXPORT __attribute__((visibility("default")))

typedef int Status;
enum {
  SUCCESS = 0,
  NOT_INITIALIZED = 1,
  INVALID_PARAMETER = 2,
  BAD_JPEG = 3,
  JPEG_NOT_SUPPORTED = 4,
  ALLOCATOR_FAILURE = 5,
  EXECUTION_FAILED = 6,
  ARCH_MISMATCH = 7,
  IMPLEMENTATION_NOT_SUPPORTED = 9,
  INCOMPLETE_BITSTREAM = 10,
};

// nvjpegChromaSubsampling_t
enum { CSS_444, CSS_422, CSS_420, CSS_440, CSS_411, CSS_410, CSS_GRAY, CSS_410V, CSS_UNKNOWN = -1 };

// nvjpegOutputFormat_t and nvjpegInputFormat_t, as far as they are the same.
enum { FORMAT_UNCHANGED, FORMAT_YUV, FORMAT_Y, FORMAT_RGB, FORMAT_BGR, FORMAT_RGBI, FORMAT_BGRI };

// nvjpegBackend_t
enum { BACKEND_DEFAULT = 0, BACKEND_HARDWARE = 3 };

#define DAMAGED "damaged on purpose"
#define ODD "odd on purpose"
#define MAX_COMPONENT 4

// nvjpegImage_t
struct Image {
  unsigned char* channel[MAX_COMPONENT];
  size_t pitch[MAX_COMPONENT];
};

// The functions of the fake driver.
struct Driver {
  FakeObserve* observe;
  FakeContext* context;
  FakeEnqueue* enqueue;
  FakeDrain* drain;
  FakeCount* count;
};

// Null when the process has not loaded it.
const struct Driver* driver(void);

enum Kind { HANDLE, STATE, ENCODER, PARAMETERS };

// What every handle points at begins with this.
struct Object {
  struct Object* next;
  enum Kind kind;
  // The library handle it was made with; null for that itself.
  struct Object* owner;
  void* context;
};

struct Handle {
  struct Object object;
  int backend;
};

// A state of the decoder.
struct State {
  struct Object object;
  // The format that nvjpegDecodeBatched is for; -1 for none.
  int format;
  bool failed;
};

// What every function begins with: the driver's switches.
Status enter(const char* function);
// Makes an object of `bytes`, zeroed. The owner, null for a handle, must be alive and of the current context.
Status make_object(enum Kind kind, size_t bytes, struct Object* owner, void* object);
// Takes a live object of the current context out, for its owner to free.
Status drop_object(void* object, enum Kind kind);
// Whether it is alive and of the current context.
Status check_object(const void* object, enum Kind kind);
// Whether both are, and belong together.
Status check_state(struct Object* handle, const struct State* state);

#define ENTER(function)                     \
  do {                                      \
    const Status entered = enter(function); \
    if (entered != SUCCESS) return entered; \
  } while (0)

#define RETURN_IF_FAILED(expression)      \
  do {                                    \
    const Status failed = (expression);   \
    if (failed != SUCCESS) return failed; \
  } while (0)

// What the headers of a JPEG say.
struct Headers {
  int width, height, components, subsampling;
  // The low byte of the frame's marker.
  int process;
  // Of each component.
  int widths[MAX_COMPONENT], heights[MAX_COMPONENT];
  // Where the compressed data begin.
  size_t scan;
};

Status parse(const unsigned char* data, size_t length, struct Headers* headers);
// Enqueues what writes the picture to `destination`.
Status start_decoding(const struct Headers* headers, const unsigned char* data, size_t length, int format,
                      const struct Image* destination, void* stream);
uint32_t hash(uint32_t state, const unsigned char* bytes, size_t length);
#define HASH_START 2166136261u

// Horizontal and vertical sampling factors of the luminance.
bool sampling_factors(int subsampling, int* horizontal, int* vertical);
