#pragma once
#include "job.cuh"

namespace zerohop {

/**
 * `value / divisor`, correctly rounded to fp32, for whole values from 0 to `divisor` and the divisors 255, 4095 and
 * 65535 (all values of each are checked in the host tier): one Newton step on the product with the reciprocal.
 */
HD float divide(int value, float divisor, float reciprocal) {
  const float v = static_cast<float>(value);
  const float q = v * reciprocal;
  return fmaf(fmaf(-q, divisor, v), reciprocal, q);
}

/** What a kernel writes: an element's bits, and four of them as one store. */
struct Float32 {
  using Bits = uint32_t;
  static HD Bits plain(const ImageJob& job, int value) { return bits_of(divide(value, job.divisor, job.reciprocal)); }
  static HD Bits of(float value) { return bits_of(value); }
};

struct Float16 {
  using Bits = uint16_t;
  static HD Bits plain(const ImageJob& job, int value) { return half_bits(divide(value, job.divisor, job.reciprocal)); }
  static HD Bits of(float value) { return half_bits(value); }
};

/** UINT8 and INT8; without a table the byte itself. */
struct Byte {
  using Bits = uint8_t;
  static HD Bits plain(const ImageJob&, int value) { return static_cast<uint8_t>(value); }
};

/** One sample of an 8-bit source as an element. `table` may be null. */
template <class Element>
HD typename Element::Bits element8(const ImageJob& job, const void* table, int component, int value) {
  using Bits = typename Element::Bits;
  if (table == nullptr) return Element::plain(job, value);
  return load<Bits>(static_cast<const Bits*>(table) + job.table_offset[component] + value);
}

/** One sample of a 16-bit source: `((v · scale) − mean) / std`, the product in fp64, each step rounded to fp32. */
template <class Element>
HD typename Element::Bits element16(const ImageJob& job, int component, int value) {
  if (job.divisor != 0) return Element::plain(job, value);
  const float scaled = static_cast<float>(value * job.scale);
  return Element::of((scaled - job.mean[component]) / job.std[component]);
}

/** Elements to a pixel of the first plane. */
HD int64_t pixel_offset(const ImageJob& job, int tile, int x, int y) {
  return job.output_offset + tile * job.tile_stride + static_cast<int64_t>(y) * job.row_stride +
         static_cast<int64_t>(x) * job.pixel_stride;
}

#ifdef __CUDACC__
template <class Bits>
struct Vector;
template <>
struct Vector<uint32_t> {
  using Type = uint4;
  static HD Type of(const uint32_t* b) { return make_uint4(b[0], b[1], b[2], b[3]); }
};
template <>
struct Vector<uint16_t> {
  using Type = uint2;
  static HD Type of(const uint16_t* b) { return make_uint2(b[0] | uint32_t(b[1]) << 16, b[2] | uint32_t(b[3]) << 16); }
};
template <>
struct Vector<uint8_t> {
  using Type = uint32_t;
  static HD Type of(const uint8_t* b) {
    return b[0] | uint32_t(b[1]) << 8 | uint32_t(b[2]) << 16 | uint32_t(b[3]) << 24;
  }
};
#endif

/** Writes four neighbouring elements: in one store where that is aligned. */
template <class Bits>
HD void store_four(Bits* to, const Bits* bits) {
#ifdef __CUDA_ARCH__
  if (reinterpret_cast<uintptr_t>(to) % (4 * sizeof(Bits)) == 0) {
    *reinterpret_cast<typename Vector<Bits>::Type*>(to) = Vector<Bits>::of(bits);
    return;
  }
#endif
  for (int i = 0; i < 4; i++) to[i] = bits[i];
}

}  // namespace zerohop
