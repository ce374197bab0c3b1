// What a JPEG says of its picture.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zerohop {

struct JpegComponent {
  uint8_t id = 0;
  uint8_t horizontal = 0;
  uint8_t vertical = 0;
  uint8_t quantization = 0;
};

struct JpegFrame {
  // The low byte of the frame's marker: 0xc0 is baseline, 0xc1 extended, 0xc2 progressive. 0: none was seen.
  uint8_t marker = 0;
  int precision = 0;
  int width = 0;
  int height = 0;
  int count = 0;
  // Of a frame with more than four, the first four.
  JpegComponent components[4];
  bool has_jfif = false;
  // The colour transform of Adobe's segment, or -1.
  int adobe_transform = -1;
  // Of the whole file; 0 when only the header was read.
  int scans = 0;
};

// The names that the JS side shows.
const char* ProcessName(const JpegFrame& frame);
const char* SubsamplingName(const JpegFrame& frame);
// As libjpeg decides it.
const char* ColorName(const JpegFrame& frame);

// Reads a frame header of `length` bytes, without its marker and length. What is wrong with it, or null.
const char* ReadFrame(uint8_t marker, const uint8_t* bytes, size_t length, JpegFrame* frame);

// Why nvJPEG can't decode such a picture, or null.
const char* Unsupported(const JpegFrame& frame);

// The minimum coded units of a scan with these components (indices).
uint64_t UnitsOfScan(const JpegFrame& frame, const int* components, int count);

}  // namespace zerohop
