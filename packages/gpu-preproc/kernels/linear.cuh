#pragma once
#include "sources.cuh"

namespace zerohop {

/** Where OpenCV's INTER_LINEAR reads for one output coordinate: half-pixel centres, the position rounded to fp32. */
struct Tap {
  int index;       // of the first of two neighbours, not clamped
  float fraction;  // of the second
};

HD Tap tap(int i, double scale) {
  const float position = static_cast<float>((i + 0.5) * scale - 0.5);
  const float whole = floorf(position);
  return {static_cast<int>(whole), position - whole};
}

/** Beyond the edge a column takes the edge pixel alone. (Rows differ: they keep their fraction.) */
HD Tap within_row(const Tap& t, int width) {
  if (t.index < 0) return {0, 0};
  return t.index < width - 1 ? t : Tap{width - 1, 0};
}

/** The taps of a placed pixel. */
struct LinearTaps {
  static HD Tap column(const ImageJob& job, int x) { return within_row(tap(x, job.scale_x), job.crop_width); }
  static HD Tap line(const ImageJob& job, int y) { return tap(y, job.scale_y); }
};

/** Weights in units of 1/2048, halves to even. */
HD int second_weight(float fraction) { return round_even(fraction * 2048); }
HD int first_weight(float fraction) { return round_even((1 - fraction) * 2048); }

HD int across8(int a, int b, int w0, int w1) { return (a * w0 + b * w1) >> 4; }
HD int down8(int upper, int lower, int w0, int w1) {
  return (((w0 * upper) >> 16) + ((w1 * lower) >> 16) + 2) >> 2;
}

/** Two neighbouring pixels of a row; the second only where `both`. */
template <class Source>
struct Pair {
  Three a, b;
  HD Pair(const ImageJob& job, const uint8_t* source, int x, int y, bool both) {
    a = Source::at(job, source, x, y);
    b = both ? Source::at(job, source, x + 1, y) : Three{{0, 0, 0}};
  }
};

/** Six bytes from any address, in two or three aligned reads. */
template <>
struct Pair<Rgb8> {
  Three a, b;
  HD Pair(const ImageJob& job, const uint8_t* source, int x, int y, bool both) {
    const uint8_t* p = Rgb8::address(job, source, x, y);
    const uint32_t shift = misalignment(p);
    const uint8_t* base = aligned(p);
    const uint32_t end = shift + (both ? 6 : 3);
    const uint32_t w0 = load<uint32_t>(base);
    const uint32_t w1 = end > 4 ? load<uint32_t>(base + 4) : 0;
    const uint32_t w2 = end > 8 ? load<uint32_t>(base + 8) : 0;
    const uint32_t low = funnel(w0, w1, 8 * shift);
    const uint32_t high = funnel(w1, w2, 8 * shift);
    a = {{byte_of(low, 0), byte_of(low, 1), byte_of(low, 2)}};
    b = {{byte_of(low, 3), byte_of(high, 0), byte_of(high, 1)}};
  }
};

/** A placed pixel of an 8-bit source: OpenCV's 8-bit INTER_LINEAR, byte for byte. */
template <class Source, class Taps>
HD Three linear8(const ImageJob& job, const uint8_t* source, Origin origin, int x, int y) {
  const Tap column = Taps::column(job, x);
  const Tap line = Taps::line(job, y);
  const int y0 = clamp_to(line.index, 0, job.crop_height - 1);
  const int y1 = clamp_to(line.index + 1, 0, job.crop_height - 1);
  const bool both = column.index < job.crop_width - 1;
  const Pair<Source> upper(job, source, origin.x + column.index, origin.y + y0, both);
  const Pair<Source> lower(job, source, origin.x + column.index, origin.y + y1, both);
  const int a0 = first_weight(column.fraction), a1 = second_weight(column.fraction);
  const int b0 = first_weight(line.fraction), b1 = second_weight(line.fraction);
  Three out;
  for (int c = 0; c < 3; c++) {
    out.v[c] = down8(across8(upper.a.v[c], upper.b.v[c], a0, a1), across8(lower.a.v[c], lower.b.v[c], a0, a1), b0, b1);
  }
  return out;
}

/** The same of a 16-bit source: fp32 weights, columns first, rounded half to even. */
template <class Source, class Taps>
HD Three linear16(const ImageJob& job, const uint8_t* source, Origin origin, int x, int y) {
  const Tap column = Taps::column(job, x);
  const Tap line = Taps::line(job, y);
  const int y0 = clamp_to(line.index, 0, job.crop_height - 1);
  const int y1 = clamp_to(line.index + 1, 0, job.crop_height - 1);
  const bool both = column.index < job.crop_width - 1;
  const Pair<Source> upper(job, source, origin.x + column.index, origin.y + y0, both);
  const Pair<Source> lower(job, source, origin.x + column.index, origin.y + y1, both);
  const float a0 = 1 - column.fraction, b0 = 1 - line.fraction;
  Three out;
  for (int c = 0; c < 3; c++) {
    const float s0 = upper.a.v[c] * a0 + upper.b.v[c] * column.fraction;
    const float s1 = lower.a.v[c] * a0 + lower.b.v[c] * column.fraction;
    out.v[c] = clamp_to(round_even(s0 * b0 + s1 * line.fraction), 0, 65535);
  }
  return out;
}

/** OpenCV's INTER_NEAREST. */
template <class Source>
HD Three nearest(const ImageJob& job, const uint8_t* source, Origin origin, int x, int y) {
  const int column = static_cast<int>(floor(x * job.scale_x));
  const int line = static_cast<int>(floor(y * job.scale_y));
  return Source::at(job, source, origin.x + (column < job.crop_width ? column : job.crop_width - 1),
                    origin.y + (line < job.crop_height ? line : job.crop_height - 1));
}

}  // namespace zerohop
