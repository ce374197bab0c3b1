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

/**
 * What a kernel writes. `plain` is a byte that needs no table, as `encode` takes it; `encode` also takes a normalised
 * value. A thread writes `kGroup`.
 */
struct Float32 {
  using Bits = uint32_t;
  static constexpr int kGroup = 4;
  static HD float plain(const ImageJob& job, int value) { return divide(value, job.divisor, job.reciprocal); }
  static HD Bits encode(const ImageJob&, float value) { return bits_of(value); }
};

struct Float16 {
  using Bits = uint16_t;
  static constexpr int kGroup = 8;
  /** Rounded to fp16, the product with the reciprocal is the quotient for all bytes (the host tier checks them). */
  static HD float plain(const ImageJob& job, int value) { return static_cast<float>(value) * job.reciprocal; }
  static HD Bits encode(const ImageJob&, float value) { return half_bits(value); }
};

/** UINT8 and INT8; without a table the byte itself. Normalised values are rounded half to even and saturated. */
struct Byte {
  using Bits = uint8_t;
  static constexpr int kGroup = 8;
  static HD int plain(const ImageJob&, int value) { return value; }
  static HD Bits encode(const ImageJob&, int value) { return static_cast<Bits>(value); }
  static HD Bits encode(const ImageJob& job, float value) {
    // Saturated first: what is far outside has no integer.
    const float least = static_cast<float>(job.least), most = least + 255;
    return static_cast<Bits>(round_even(value < least ? least : value > most ? most : value));
  }
};

/** `((v · scale) − mean) / std`, the product in fp64, each step rounded to fp32. */
HD_CALLED float normalised_bytes16(double scale, float mean, float std, int value) {
  return (static_cast<float>(value * scale) - mean) / std;
}

/** A sample of a 16-bit source, normalised for an element: of bytes by a call, which keeps their kernels small. */
template <class Element>
HD float normalised16(const ImageJob& job, int component, int value) {
  if constexpr (sizeof(typename Element::Bits) == 1) {
    return normalised_bytes16(job.scale, job.mean[component], job.std[component], value);
  } else {
    if (job.divisor != 0) return divide(value, job.divisor, job.reciprocal);
    const float scaled = static_cast<float>(value * job.scale);
    return (scaled - job.mean[component]) / job.std[component];
  }
}

template <class Bits>
HD Bits look_up(const ImageJob& job, const void* table, int component, int value) {
  return load<Bits>(static_cast<const Bits*>(table) + job.table_offset[component] + value);
}

/** Elements to a pixel of the first plane. */
HD int64_t pixel_offset(const ImageJob& job, int x, int y) {
  return job.output_offset + static_cast<int64_t>(y) * job.row_stride +
         static_cast<int64_t>(x) * job.pixel_stride;
}

/** Neighbouring elements, packed as they lie in memory. */
template <class Element>
struct Group {
  using Bits = typename Element::Bits;
  static constexpr int kWords = Element::kGroup * sizeof(Bits) / 4;
  static constexpr int kInWord = 4 / sizeof(Bits);
  uint32_t words[kWords];

  HD void clear() {
    for (int i = 0; i < kWords; i++) words[i] = 0;
  }
  HD void set(int i, Bits bits) { words[i / kInWord] |= static_cast<uint32_t>(bits) << (32 / kInWord * (i % kInWord)); }
  HD Bits get(int i) const { return static_cast<Bits>(words[i / kInWord] >> (32 / kInWord * (i % kInWord))); }

  /** In one store where that is aligned and the pixels lie side by side. */
  HD void store(Bits* to, int pixel_stride) const {
#ifdef __CUDA_ARCH__
    if (pixel_stride == 1 && reinterpret_cast<uintptr_t>(to) % sizeof words == 0) {
      if constexpr (kWords == 4) {
        *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
      } else {
        *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
      }
      return;
    }
#endif
    for (int i = 0; i < Element::kGroup; i++) to[static_cast<int64_t>(i) * pixel_stride] = get(i);
  }
};

}  // namespace zerohop
