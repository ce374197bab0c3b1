// The headers of a JPEG file.
#include <string.h>

#include "fake_nvjpeg.h"

uint32_t hash(uint32_t state, const unsigned char* bytes, size_t length) {
  for (size_t i = 0; i < length; ++i) state = (state ^ bytes[i]) * 16777619u;
  return state;
}

static const struct {
  int subsampling, horizontal, vertical;
} kSamplings[] = {
    {CSS_444, 1, 1}, {CSS_422, 2, 1}, {CSS_420, 2, 2},  {CSS_440, 1, 2},
    {CSS_411, 4, 1}, {CSS_410, 4, 2}, {CSS_GRAY, 1, 1}, {CSS_410V, 2, 4},
};

bool sampling_factors(int subsampling, int* horizontal, int* vertical) {
  for (size_t i = 0; i < sizeof kSamplings / sizeof *kSamplings; ++i) {
    if (kSamplings[i].subsampling != subsampling) continue;
    *horizontal = kSamplings[i].horizontal;
    *vertical = kSamplings[i].vertical;
    return true;
  }
  return false;
}

static int read_16(const unsigned char* at) { return at[0] << 8 | at[1]; }

// The frame header of `length` bytes, without its marker and length.
static Status read_frame(const unsigned char* frame, size_t length, struct Headers* headers) {
  if (length < 6 || length < 6 + 3u * frame[5]) return BAD_JPEG;
  headers->height = read_16(frame + 1);
  headers->width = read_16(frame + 3);
  headers->components = frame[5];
  // 12 bits, the height in a later marker, CMYK.
  if (frame[0] != 8 || headers->height == 0) return JPEG_NOT_SUPPORTED;
  if (headers->width == 0 || headers->components == 0) return BAD_JPEG;
  if (headers->components != 1 && headers->components != 3) return JPEG_NOT_SUPPORTED;

  int horizontal[3], vertical[3], most_horizontal = 1, most_vertical = 1;
  for (int i = 0; i < headers->components; ++i) {
    const unsigned char factors = frame[6 + 3 * i + 1];
    horizontal[i] = factors >> 4;
    vertical[i] = factors & 15;
    if (horizontal[i] < 1 || horizontal[i] > 4 || vertical[i] < 1 || vertical[i] > 4) return BAD_JPEG;
    if (horizontal[i] > most_horizontal) most_horizontal = horizontal[i];
    if (vertical[i] > most_vertical) most_vertical = vertical[i];
  }
  if (headers->components == 1) {
    // Alone, a component is not sampled, whatever its factors say.
    headers->subsampling = CSS_GRAY;
    headers->widths[0] = headers->width;
    headers->heights[0] = headers->height;
    return SUCCESS;
  }
  for (int i = 0; i < 3; ++i) {
    headers->widths[i] = (headers->width * horizontal[i] + most_horizontal - 1) / most_horizontal;
    headers->heights[i] = (headers->height * vertical[i] + most_vertical - 1) / most_vertical;
  }
  headers->subsampling = CSS_UNKNOWN;
  if (horizontal[1] != horizontal[2] || vertical[1] != vertical[2]) return SUCCESS;
  for (size_t i = 0; i < sizeof kSamplings / sizeof *kSamplings; ++i) {
    if (kSamplings[i].subsampling == CSS_GRAY) continue;
    if (horizontal[0] == kSamplings[i].horizontal * horizontal[1] &&
        vertical[0] == kSamplings[i].vertical * vertical[1]) {
      headers->subsampling = kSamplings[i].subsampling;
    }
  }
  return SUCCESS;
}

enum { SOF0 = 0xc0, DHT = 0xc4, JPG = 0xc8, DAC = 0xcc, SOF15 = 0xcf, RST0 = 0xd0, SOI = 0xd8, EOI = 0xd9, SOS = 0xda };

// SOF0, 1 and 2 are the Huffman-coded ones with DCT; the others are lossless, hierarchical or arithmetic.
static bool is_frame(int marker) {
  return marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG && marker != DAC;
}

Status parse(const unsigned char* data, size_t length, struct Headers* headers) {
  memset(headers, 0, sizeof *headers);
  if (length < 2) return INCOMPLETE_BITSTREAM;
  if (data[0] != 0xff || data[1] != SOI) return BAD_JPEG;
  size_t at = 2;
  for (;;) {
    if (at + 4 > length) return INCOMPLETE_BITSTREAM;
    if (data[at] != 0xff) return BAD_JPEG;
    const int marker = data[at + 1];
    if (marker == 0xff) {
      // Filling.
      ++at;
      continue;
    }
    if (marker < SOF0 || (marker >= RST0 && marker <= EOI)) return BAD_JPEG;
    const size_t bytes = (size_t)read_16(data + at + 2);
    if (bytes < 2) return BAD_JPEG;
    if (at + 2 + bytes > length) return INCOMPLETE_BITSTREAM;
    if (is_frame(marker)) {
      if (marker > SOF0 + 2) return JPEG_NOT_SUPPORTED;
      if (headers->components != 0) return BAD_JPEG;
      RETURN_IF_FAILED(read_frame(data + at + 4, bytes - 2, headers));
      headers->process = marker;
    }
    at += 2 + bytes;
    if (marker != SOS) continue;
    if (headers->components == 0) return BAD_JPEG;
    headers->scan = at;
    return SUCCESS;
  }
}

EXPORT Status nvjpegGetImageInfo(struct Object* handle, const unsigned char* data, size_t length, int* components,
                                 int* subsampling, int* widths, int* heights) {
  ENTER("nvjpegGetImageInfo");
  RETURN_IF_FAILED(check_object(handle, HANDLE));
  if (data == NULL || components == NULL || subsampling == NULL || widths == NULL || heights == NULL) {
    return INVALID_PARAMETER;
  }
  struct Headers headers;
  RETURN_IF_FAILED(parse(data, length, &headers));
  *components = headers.components;
  *subsampling = headers.subsampling;
  memcpy(widths, headers.widths, sizeof headers.widths);
  memcpy(heights, headers.heights, sizeof headers.heights);
  return SUCCESS;
}
