// What a model does with one request's tensor, on the CPU or on a GPU.
#ifndef ZEROHOP_BENCH_ENGINE_H_
#define ZEROHOP_BENCH_ENGINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "triton_abi.h"

namespace zerohop_bench {

// Null means success, as in Triton's own API; otherwise the caller owns it.
using Error = TRITONSERVER_Error*;

Error MakeError(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

#define ZH_RETURN_IF_ERROR(expression) \
  do {                                 \
    if (Error zh_error = (expression)) return zh_error; \
  } while (false)

// identity: output = input, any fixed-size datatype. reduce: FP32 of any shape → FP32 [1000, 6].
enum class Operation { kIdentity, kReduce };

// reduce splits n elements into kWindows windows and sums each. Window k is [floor(k·n / W), ceil((k+1)·n / W)), as in
// adaptive pooling: every element is read, no window is empty even if n < W, the first begins at element 0 and the last
// ends at element n-1. Whole numbers whose window sums stay below 2^24 come out exact in any order of addition.
constexpr uint64_t kWindows = 6000;
constexpr int64_t kReduceShape[2] = {1000, 6};

constexpr uint64_t WindowBegin(uint64_t k, uint64_t n) { return k * n / kWindows; }
constexpr uint64_t WindowEnd(uint64_t k, uint64_t n) { return ((k + 1) * n + kWindows - 1) / kWindows; }

// k·n must not overflow 64 bits.
constexpr uint64_t kMaxElements = UINT64_MAX / (kWindows + 1);

struct Output {
  void* data;
  uint64_t byte_length;
  int memory_type;
  int64_t memory_type_id;
};

// Nanoseconds of steady_clock, which is what ReportStatistics takes.
struct Times {
  uint64_t exec_start = 0;
  uint64_t compute_start = 0;
  uint64_t compute_end = 0;
  uint64_t exec_end = 0;
};

inline uint64_t NowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

class Engine {
 public:
  virtual ~Engine() = default;
  // Where it would like the output to be; the server may decide otherwise.
  virtual int PreferredMemoryType() const = 0;
  virtual int64_t PreferredMemoryTypeId() const = 0;
  // Returns when the output is complete. Sets compute_start and compute_end.
  virtual Error Run(
      Operation operation, TRITONBACKEND_Input* input, uint64_t byte_length, uint32_t buffer_count,
      const Output& output, Times* times) = 0;
};

std::unique_ptr<Engine> MakeCpuEngine();
Error MakeGpuEngine(int32_t device, std::unique_ptr<Engine>* engine);

}  // namespace zerohop_bench

#endif  // ZEROHOP_BENCH_ENGINE_H_
