#pragma once
#include "job.cuh"

namespace zerohop {

// A source reads pixels of an image. `at` gives one; `four` the pixels x to x + 3 of a row, `eight` those to x + 7.
// Coordinates are in the image. Words are read only where at least one of their bytes belongs to the pixels asked for.

HD const uint8_t* aligned(const uint8_t* p) { return p - (reinterpret_cast<uintptr_t>(p) & 3); }
HD uint32_t misalignment(const uint8_t* p) { return reinterpret_cast<uintptr_t>(p) & 3; }
HD int byte_of(uint32_t word, int index) { return (word >> (8 * index)) & 0xff; }

/** Four bytes from any address. */
HD uint32_t load_four(const uint8_t* p) {
  const uint32_t shift = misalignment(p);
  const uint8_t* base = aligned(p);
  const uint32_t low = load<uint32_t>(base);
  return shift == 0 ? low : funnel(low, load<uint32_t>(base + 4), 8 * shift);
}

/** `eight` of a source that has no better way. */
template <class Source>
struct InFours {
  static HD void eight(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    Source::four(job, source, x, y, out);
    Source::four(job, source, x + 4, y, out + 4);
  }
};

/** 8-bit, three bytes a pixel. */
struct Rgb8 {
  static HD const uint8_t* address(const ImageJob& job, const uint8_t* source, int x, int y) {
    return source + job.source_offset + row_offset(job, y) + 3 * static_cast<int64_t>(x);
  }
  static HD Three at(const ImageJob& job, const uint8_t* source, int x, int y) {
    const uint8_t* p = address(job, source, x, y);
    return {{load<uint8_t>(p), load<uint8_t>(p + 1), load<uint8_t>(p + 2)}};
  }
  static HD void four(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    const uint8_t* p = address(job, source, x, y);
    const uint32_t shift = 8 * misalignment(p);
    const uint8_t* base = aligned(p);
    uint32_t w[4] = {load<uint32_t>(base), load<uint32_t>(base + 4), load<uint32_t>(base + 8), 0};
    if (shift != 0) {
      w[3] = load<uint32_t>(base + 12);
      for (int i = 0; i < 3; i++) w[i] = funnel(w[i], w[i + 1], shift);
    }
    for (int i = 0; i < 12; i++) out[i / 3].v[i % 3] = byte_of(w[i / 4], i % 4);
  }
  static HD void eight(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    const uint8_t* p = address(job, source, x, y);
    if ((reinterpret_cast<uintptr_t>(p) & 7) != 0) {
      InFours<Rgb8>::eight(job, source, x, y, out);
      return;
    }
    const uint64_t w[3] = {load<uint64_t>(p), load<uint64_t>(p + 8), load<uint64_t>(p + 16)};
    for (int i = 0; i < 24; i++) {
      const uint32_t half = static_cast<uint32_t>(w[i / 8] >> (i % 8 < 4 ? 0 : 32));
      out[i / 3].v[i % 3] = byte_of(half, i % 4);
    }
  }
};

/** 8-bit, four bytes a pixel, of which three from `first_byte` (0 or 1) on count. */
struct Rgba8 : InFours<Rgba8> {
  static HD const uint8_t* address(const ImageJob& job, const uint8_t* source, int x, int y) {
    return source + job.source_offset + row_offset(job, y) + 4 * static_cast<int64_t>(x);
  }
  static HD Three split(const ImageJob& job, uint32_t word) {
    const uint32_t rest = word >> (8 * job.first_byte);
    return {{byte_of(rest, 0), byte_of(rest, 1), byte_of(rest, 2)}};
  }
  static HD Three at(const ImageJob& job, const uint8_t* source, int x, int y) {
    return split(job, load_four(address(job, source, x, y)));
  }
  static HD void four(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    const uint8_t* p = address(job, source, x, y);
    for (int i = 0; i < 4; i++) out[i] = split(job, load_four(p + 4 * i));
  }
};

/** 8-bit, one byte a pixel, for all components. */
struct Gray8 : InFours<Gray8> {
  static HD const uint8_t* address(const ImageJob& job, const uint8_t* source, int x, int y) {
    return source + job.source_offset + row_offset(job, y) + x;
  }
  static HD Three at(const ImageJob& job, const uint8_t* source, int x, int y) {
    const int v = load<uint8_t>(address(job, source, x, y));
    return {{v, v, v}};
  }
  static HD void four(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    const uint32_t word = load_four(address(job, source, x, y));
    for (int i = 0; i < 4; i++) {
      const int v = byte_of(word, i);
      out[i] = {{v, v, v}};
    }
  }
};

/** 8-bit, three planes. */
struct Planar8 : InFours<Planar8> {
  static HD Three at(const ImageJob& job, const uint8_t* source, int x, int y) {
    const uint8_t* p = Gray8::address(job, source, x, y);
    return {{load<uint8_t>(p), load<uint8_t>(p + job.plane_pitch), load<uint8_t>(p + 2 * job.plane_pitch)}};
  }
  static HD void four(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    const uint8_t* p = Gray8::address(job, source, x, y);
    for (int c = 0; c < 3; c++) {
      const uint32_t word = load_four(p + c * job.plane_pitch);
      for (int i = 0; i < 4; i++) out[i].v[c] = byte_of(word, i);
    }
  }
};

/**
 * NV12: luma, and at half the resolution interleaved U, V; the chroma of a pixel is that of its 2 x 2 block. 20-bit
 * fixed point, luma below its offset taken as black: with the limited BT.601 coefficients this is OpenCV's conversion.
 */
struct Nv12 : InFours<Nv12> {
  static HD int to_byte(int value) { return clamp_to((value + (1 << 19)) >> 20, 0, 255); }
  static HD Three convert(const ImageJob& job, int luma, int u, int v) {
    const int y = (luma > job.luma_offset ? luma - job.luma_offset : 0) * job.luma;
    return {{to_byte(y + job.v_to_red * (v - 128)),
             to_byte(y + job.u_to_green * (u - 128) + job.v_to_green * (v - 128)),
             to_byte(y + job.u_to_blue * (u - 128))}};
  }
  static HD const uint8_t* chroma(const ImageJob& job, const uint8_t* source, int x, int y) {
    return source + job.source_offset + job.plane_pitch + row_offset(job, y >> 1) + (x & ~1);
  }
  static HD Three at(const ImageJob& job, const uint8_t* source, int x, int y) {
    const uint8_t* uv = chroma(job, source, x, y);
    return convert(job, load<uint8_t>(Gray8::address(job, source, x, y)), load<uint8_t>(uv), load<uint8_t>(uv + 1));
  }
  static HD void four(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    if ((x & 1) != 0) {
      for (int i = 0; i < 4; i++) out[i] = at(job, source, x + i, y);
      return;
    }
    const uint32_t luma = load_four(Gray8::address(job, source, x, y));
    const uint32_t uv = load_four(chroma(job, source, x, y));
    for (int i = 0; i < 4; i++) {
      out[i] = convert(job, byte_of(luma, i), byte_of(uv, i & 2), byte_of(uv, (i & 2) + 1));
    }
  }
};

/** 16-bit little-endian samples at an even address. */
template <int Components>
struct Deep : InFours<Deep<Components>> {
  static HD const uint8_t* address(const ImageJob& job, const uint8_t* source, int x, int y) {
    return source + job.source_offset + row_offset(job, y) + 2 * Components * static_cast<int64_t>(x);
  }
  static HD Three at(const ImageJob& job, const uint8_t* source, int x, int y) {
    const uint8_t* p = address(job, source, x, y);
    const int first = load<uint16_t>(p);
    if (Components == 1) return {{first, first, first}};
    return {{first, load<uint16_t>(p + 2), load<uint16_t>(p + 4)}};
  }
  static HD void four(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    const uint8_t* p = address(job, source, x, y);
    uint32_t w[2 * Components];
    for (int i = 0; i < 2 * Components; i++) w[i] = load_four(p + 4 * i);
    for (int i = 0; i < 12; i++) {
      const int sample = Components == 1 ? i / 3 : i;
      out[i / 3].v[i % 3] = (w[sample / 2] >> (16 * (sample % 2))) & 0xffff;
    }
  }
};

}  // namespace zerohop
