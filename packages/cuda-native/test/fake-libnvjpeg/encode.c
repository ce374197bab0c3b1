// Encoding: a JPEG of one grey with a hash of the source in a comment (fake_nvjpeg.h).
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_nvjpeg.h"

// The comment's text is always as long.
#define COMMENT "quality %3d hash %08x"
#define COMMENT_BYTES 25

// The result of one encoding; the encoder and the work that has still to fill it in hold it.
struct Bitstream {
  atomic_int references;
  size_t length;
  int quality;
  // Where the comment is, and whether it is right.
  size_t comment;
  atomic_bool done;
  unsigned char bytes[];
};

struct Encoder {
  struct Object object;
  void* stream;
  struct Bitstream* bitstream;
};

struct Parameters {
  struct Object object;
  int quality;
  int subsampling;
};

static void release(struct Bitstream* bitstream) {
  if (bitstream != NULL && atomic_fetch_sub(&bitstream->references, 1) == 1) free(bitstream);
}

EXPORT Status nvjpegEncoderStateCreate(struct Object* handle, struct Encoder** encoder, void* stream) {
  ENTER("nvjpegEncoderStateCreate");
  (void)stream;
  return make_object(ENCODER, sizeof **encoder, handle, encoder);
}

EXPORT Status nvjpegEncoderStateDestroy(struct Encoder* encoder) {
  const Status late = enter("nvjpegEncoderStateDestroy");
  if (driver() == NULL) return late;
  RETURN_IF_FAILED(drop_object(encoder, ENCODER));
  release(encoder->bitstream);
  free(encoder);
  return late;
}

EXPORT Status nvjpegEncoderParamsCreate(struct Object* handle, struct Parameters** parameters, void* stream) {
  ENTER("nvjpegEncoderParamsCreate");
  (void)stream;
  RETURN_IF_FAILED(make_object(PARAMETERS, sizeof **parameters, handle, parameters));
  (*parameters)->quality = 70;
  (*parameters)->subsampling = CSS_444;
  return SUCCESS;
}

EXPORT Status nvjpegEncoderParamsDestroy(struct Parameters* parameters) {
  const Status late = enter("nvjpegEncoderParamsDestroy");
  if (driver() == NULL) return late;
  RETURN_IF_FAILED(drop_object(parameters, PARAMETERS));
  free(parameters);
  return late;
}

EXPORT Status nvjpegEncoderParamsSetQuality(struct Parameters* parameters, int quality, void* stream) {
  ENTER("nvjpegEncoderParamsSetQuality");
  (void)stream;
  RETURN_IF_FAILED(check_object(parameters, PARAMETERS));
  if (quality < 1 || quality > 100) return INVALID_PARAMETER;
  parameters->quality = quality;
  return SUCCESS;
}

EXPORT Status nvjpegEncoderParamsSetSamplingFactors(struct Parameters* parameters, int subsampling, void* stream) {
  ENTER("nvjpegEncoderParamsSetSamplingFactors");
  (void)stream;
  int horizontal, vertical;
  RETURN_IF_FAILED(check_object(parameters, PARAMETERS));
  if (!sampling_factors(subsampling, &horizontal, &vertical)) return INVALID_PARAMETER;
  parameters->subsampling = subsampling;
  return SUCCESS;
}

// Appends a marker's segment with the given contents.
static void segment(struct Bitstream* out, int marker, const void* contents, size_t length) {
  unsigned char* at = out->bytes + out->length;
  at[0] = 0xff;
  at[1] = (unsigned char)marker;
  at[2] = (unsigned char)((length + 2) >> 8);
  at[3] = (unsigned char)(length + 2);
  memcpy(at + 4, contents, length);
  out->length += length + 4;
}

// Every block is two bits: no difference of the average, nothing else. So the Huffman tables have one code each.
static void write_file(struct Bitstream* out, const struct Parameters* parameters, int width, int height) {
  const int components = parameters->subsampling == CSS_GRAY ? 1 : 3;
  int horizontal, vertical;
  sampling_factors(parameters->subsampling, &horizontal, &vertical);
  memcpy(out->bytes, "\xff\xd8", 2);
  out->length = 2;
  segment(out, 0xe0, "JFIF\0\1\1\0\0\1\0\1\0\0", 14);
  out->comment = out->length + 4;
  out->quality = parameters->quality;
  const unsigned char comment[COMMENT_BYTES] = {0};
  segment(out, 0xfe, comment, sizeof comment);
  unsigned char quantisation[65] = {0};
  memset(quantisation + 1, 101 - parameters->quality, 64);
  segment(out, 0xdb, quantisation, sizeof quantisation);
  unsigned char frame[15] = {8, (unsigned char)(height >> 8), (unsigned char)height, (unsigned char)(width >> 8),
                             (unsigned char)width, (unsigned char)components};
  unsigned char scan[10] = {(unsigned char)components};
  for (int c = 0; c < components; ++c) {
    frame[6 + 3 * c] = scan[1 + 2 * c] = (unsigned char)(c + 1);
    frame[7 + 3 * c] = c == 0 ? (unsigned char)(horizontal << 4 | vertical) : 0x11;
  }
  scan[1 + 2 * components + 1] = 63;
  segment(out, 0xc0, frame, 6 + 3 * (size_t)components);
  const unsigned char average[18] = {0x00, 1};
  const unsigned char rest[18] = {0x10, 1};
  segment(out, 0xc4, average, sizeof average);
  segment(out, 0xc4, rest, sizeof rest);
  segment(out, 0xda, scan, 1 + 2 * (size_t)components + 3);
  const size_t across = ((size_t)width + 8 * horizontal - 1) / (8 * horizontal);
  const size_t down = ((size_t)height + 8 * vertical - 1) / (8 * vertical);
  const size_t blocks = across * down * (size_t)(components == 1 ? 1 : horizontal * vertical + 2);
  const size_t bytes = (2 * blocks + 7) / 8;
  memset(out->bytes + out->length, 0, bytes);
  // Filled up with ones.
  out->bytes[out->length + bytes - 1] = (unsigned char)(0xff >> (2 * blocks - 8 * (bytes - 1)));
  out->length += bytes;
  memcpy(out->bytes + out->length, "\xff\xd9", 2);
  out->length += 2;
}

struct Source {
  struct Bitstream* bitstream;
  int count;
  struct {
    const unsigned char* start;
    size_t pitch, row_bytes;
    int height;
  } planes[3];
};

static void encode(void* argument) {
  struct Source* source = argument;
  uint32_t state = HASH_START;
  for (int i = 0; i < source->count; ++i) {
    for (int y = 0; y < source->planes[i].height; ++y) {
      state = hash(state, source->planes[i].start + (size_t)y * source->planes[i].pitch, source->planes[i].row_bytes);
    }
  }
  char text[COMMENT_BYTES + 1];
  snprintf(text, sizeof text, COMMENT, source->bitstream->quality, state);
  memcpy(source->bitstream->bytes + source->bitstream->comment, text, COMMENT_BYTES);
  atomic_store(&source->bitstream->done, true);
}

static void release_source(void* argument) {
  struct Source* source = argument;
  release(source->bitstream);
  free(source);
}

// The planes of the source; false when they are not fit for the format.
static bool plan(struct Source* source, const struct Image* image, int format, int subsampling, int width, int height) {
  int horizontal, vertical;
  sampling_factors(subsampling, &horizontal, &vertical);
  const bool interleaved = format == FORMAT_RGBI || format == FORMAT_BGRI;
  source->count = interleaved || (format == FORMAT_YUV && subsampling == CSS_GRAY) ? 1 : 3;
  for (int c = 0; c < source->count; ++c) {
    const bool scaled = format == FORMAT_YUV && c > 0;
    const int columns = scaled ? (width + horizontal - 1) / horizontal : width;
    source->planes[c].start = image->channel[c];
    source->planes[c].pitch = image->pitch[c];
    source->planes[c].row_bytes = (size_t)columns * (interleaved ? 3 : 1);
    source->planes[c].height = scaled ? (height + vertical - 1) / vertical : height;
    if (image->channel[c] == NULL || image->pitch[c] < source->planes[c].row_bytes) return false;
  }
  return true;
}

static struct Bitstream* new_bitstream(int width, int height) {
  // Two bits a block, three blocks for every 64 pixels of the padded image at most, and the headers.
  const size_t most = ((size_t)width + 32) * ((size_t)height + 32) / 64 * 6 / 8 + 1024;
  struct Bitstream* made = malloc(sizeof *made + most);
  if (made == NULL) return NULL;
  atomic_init(&made->references, 1);
  atomic_init(&made->done, false);
  return made;
}

EXPORT Status nvjpegEncodeImage(struct Object* handle, struct Encoder* encoder, const struct Parameters* parameters,
                                const struct Image* image, int format, int width, int height, void* stream) {
  ENTER("nvjpegEncodeImage");
  RETURN_IF_FAILED(check_object(handle, HANDLE));
  RETURN_IF_FAILED(check_object(encoder, ENCODER));
  RETURN_IF_FAILED(check_object(parameters, PARAMETERS));
  if (image == NULL || width < 1 || width > 65535 || height < 1 || height > 65535) return INVALID_PARAMETER;
  if (format != FORMAT_YUV && (format < FORMAT_RGB || format > FORMAT_BGRI)) return IMPLEMENTATION_NOT_SUPPORTED;
  struct Source* source = calloc(1, sizeof *source);
  if (source == NULL) return ALLOCATOR_FAILURE;
  if (!plan(source, image, format, parameters->subsampling, width, height)) {
    free(source);
    return INVALID_PARAMETER;
  }
  source->bitstream = new_bitstream(width, height);
  if (source->bitstream == NULL) {
    free(source);
    return ALLOCATOR_FAILURE;
  }
  write_file(source->bitstream, parameters, width, height);
  struct FakeWork work = {.function = encode, .release = release_source, .argument = source};
  work.range_count = source->count;
  for (int i = 0; i < source->count; ++i) {
    work.ranges[i].start = (void*)source->planes[i].start;
    work.ranges[i].bytes =
        source->planes[i].pitch * (size_t)(source->planes[i].height - 1) + source->planes[i].row_bytes;
  }
  struct Bitstream* bitstream = source->bitstream;
  atomic_fetch_add(&bitstream->references, 1);
  if (driver()->enqueue(stream, &work) != 0) {
    release(bitstream);
    return EXECUTION_FAILED;
  }
  release(encoder->bitstream);
  encoder->bitstream = bitstream;
  encoder->stream = stream;
  return SUCCESS;
}

EXPORT Status nvjpegEncodeRetrieveBitstream(struct Object* handle, struct Encoder* encoder, unsigned char* data,
                                            size_t* length, void* stream) {
  ENTER("nvjpegEncodeRetrieveBitstream");
  (void)stream;
  RETURN_IF_FAILED(check_object(handle, HANDLE));
  RETURN_IF_FAILED(check_object(encoder, ENCODER));
  const struct Bitstream* bitstream = encoder->bitstream;
  if (length == NULL || bitstream == NULL) return INVALID_PARAMETER;
  // Asking for the length waits as well: it depends on what is encoded.
  driver()->drain(encoder->stream);
  if (!atomic_load(&bitstream->done)) return EXECUTION_FAILED;
  if (data != NULL && *length < bitstream->length) return INVALID_PARAMETER;
  if (data != NULL) memcpy(data, bitstream->bytes, bitstream->length);
  *length = bitstream->length;
  return SUCCESS;
}
