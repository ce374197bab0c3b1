#include "jpeg_frame.h"

#include <algorithm>
#include <cstring>

namespace zerohop {

namespace {

constexpr uint8_t kBaseline = 0xc0;
constexpr uint8_t kExtended = 0xc1;
constexpr uint8_t kProgressive = 0xc2;
constexpr uint8_t kLossless = 0xc3;

// The kinds of nvJPEG, by the sampling factors of luminance relative to those of chrominance.
struct Sampling {
  int horizontal;
  int vertical;
  const char* name;
};
constexpr Sampling kSamplings[] = {{1, 1, "4:4:4"}, {2, 1, "4:2:2"}, {2, 2, "4:2:0"}, {1, 2, "4:4:0"},
                                   {4, 1, "4:1:1"}, {4, 2, "4:1:0"}, {2, 4, "4:1:0v"}};

int Largest(const JpegFrame& frame, uint8_t JpegComponent::* factor) {
  int largest = 1;
  for (int i = 0; i < std::min(frame.count, 4); ++i) largest = std::max<int>(largest, frame.components[i].*factor);
  return largest;
}

uint64_t DividedUp(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

}  // namespace

const char* ProcessName(const JpegFrame& frame) {
  switch (frame.marker) {
    case kBaseline:
      return "baseline";
    case kExtended:
      return "extended";
    case kProgressive:
      return "progressive";
    case kLossless:
      return "lossless";
    default:
      return frame.marker >= 0xc9 ? "arithmetic" : "hierarchical";
  }
}

const char* SubsamplingName(const JpegFrame& frame) {
  if (frame.count == 1) return "gray";
  if (frame.count != 3) return "other";
  const auto& [first, second, third, fourth] = frame.components;
  if (second.horizontal != third.horizontal || second.vertical != third.vertical) return "other";
  for (const Sampling& sampling : kSamplings) {
    if (first.horizontal == sampling.horizontal * second.horizontal &&
        first.vertical == sampling.vertical * second.vertical) {
      return sampling.name;
    }
  }
  return "other";
}

const char* ColorName(const JpegFrame& frame) {
  if (frame.count == 1) return "GRAY";
  if (frame.count == 3) {
    if (frame.has_jfif) return "YCbCr";
    if (frame.adobe_transform >= 0) return frame.adobe_transform == 0 ? "RGB" : "YCbCr";
    const auto& [first, second, third, fourth] = frame.components;
    return first.id == 'R' && second.id == 'G' && third.id == 'B' ? "RGB" : "YCbCr";
  }
  if (frame.count == 4) return frame.adobe_transform == 2 ? "YCCK" : "CMYK";
  return "other";
}

const char* ReadFrame(uint8_t marker, const uint8_t* bytes, size_t length, JpegFrame* frame) {
  if (length < 6) return "its frame header is too short";
  frame->marker = marker;
  frame->precision = bytes[0];
  frame->height = bytes[1] << 8 | bytes[2];
  frame->width = bytes[3] << 8 | bytes[4];
  frame->count = bytes[5];
  if (length != 6 + 3 * static_cast<size_t>(frame->count)) return "its frame header has the wrong length";
  if (frame->width == 0) return "its width is 0";
  if (frame->count == 0) return "it has no components";
  for (int i = 0; i < frame->count; ++i) {
    const uint8_t* entry = bytes + 6 + 3 * i;
    const JpegComponent component = {entry[0], static_cast<uint8_t>(entry[1] >> 4), static_cast<uint8_t>(entry[1] & 15),
                                     entry[2]};
    if (component.horizontal < 1 || component.horizontal > 4 || component.vertical < 1 || component.vertical > 4) {
      return "a sampling factor is not between 1 and 4";
    }
    if (component.quantization > 3) return "it names a quantization table that can't be";
    for (int before = 0; before < std::min(i, 4); ++before) {
      if (frame->components[before].id == component.id) return "two of its components have the same name";
    }
    if (i < 4) frame->components[i] = component;
  }
  return nullptr;
}

const char* Unsupported(const JpegFrame& frame) {
  if (frame.marker > kProgressive) {
    return frame.marker == kLossless ? "it is lossless"
           : frame.marker >= 0xc9    ? "it is coded arithmetically"
                                     : "it is hierarchical";
  }
  if (frame.precision != 8) return "its samples have not 8 bits";
  if (frame.height == 0) return "its height comes after the picture";
  if (frame.count == 4) return "its colours are CMYK";
  if (frame.count != 1 && frame.count != 3) return "it has neither one nor three components";
  if (strcmp(ColorName(frame), "RGB") == 0) return "its components are red, green and blue instead of YCbCr";
  if (strcmp(SubsamplingName(frame), "other") == 0) return "its chroma subsampling is unusual";
  return nullptr;
}

uint64_t UnitsOfScan(const JpegFrame& frame, const int* components, int count) {
  const int widest = Largest(frame, &JpegComponent::horizontal);
  const int highest = Largest(frame, &JpegComponent::vertical);
  const auto width = static_cast<uint64_t>(frame.width);
  const auto height = static_cast<uint64_t>(frame.height);
  if (count > 1) return DividedUp(width, 8 * widest) * DividedUp(height, 8 * highest);
  // A component alone is coded block by block, of those that hold samples.
  const JpegComponent& component = frame.components[components[0]];
  return DividedUp(DividedUp(width * component.horizontal, widest), 8) *
         DividedUp(DividedUp(height * component.vertical, highest), 8);
}

}  // namespace zerohop
