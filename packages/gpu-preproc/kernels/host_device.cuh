#pragma once
// The few words in which device and host code differ. Compiles with nvcc and, without any CUDA header, with g++: the
// host tier runs the same arithmetic there. Contraction into fused multiply-adds is off in both (-fmad=false,
// -ffp-contract=off): what is fused is written as fmaf.

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define HD __host__ __device__ __forceinline__
/** Of code that is too large to be copied into every kernel that calls it, and not in a hurry. */
#define HD_CALLED inline __host__ __device__ __noinline__
#else
#define HD inline
#define HD_CALLED inline
#endif

namespace zerohop {

/** Reads through the read-only path: nothing that a kernel reads is written by it. */
template <class T>
HD T load(const void* address) {
#ifdef __CUDA_ARCH__
  return __ldg(static_cast<const T*>(address));
#else
  T value;
  memcpy(&value, address, sizeof value);
  return value;
#endif
}

/** The 32 bits of `high:low` from bit `bits` (0 to 31) on. */
HD uint32_t funnel(uint32_t low, uint32_t high, uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, bits);
#else
  return static_cast<uint32_t>(((static_cast<uint64_t>(high) << 32) | low) >> bits);
#endif
}

HD uint32_t bits_of(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}

/** To the nearest integer, halves to even. */
HD int round_even(float value) {
#ifdef __CUDA_ARCH__
  return __float2int_rn(value);
#else
  return static_cast<int>(nearbyintf(value));
#endif
}

/** The binary16 nearest to `value`, halves to even. */
HD uint16_t half_bits(float value) {
#ifdef __CUDA_ARCH__
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const _Float16 half = static_cast<_Float16>(value);
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
#endif
}

/** Two of them in one word, `low` in the lower half. */
HD uint32_t half_pair(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return half_bits(low) | static_cast<uint32_t>(half_bits(high)) << 16;
#endif
}

HD int clamp_to(int value, int low, int high) { return value < low ? low : value > high ? high : value; }

}  // namespace zerohop
