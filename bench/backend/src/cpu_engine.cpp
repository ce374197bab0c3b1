#include <cstring>
#include <new>

#include "engine.h"

namespace zerohop_bench {
namespace {

// Independent partial sums let the compiler use vector adds without being allowed to reorder float arithmetic.
float SumRange(const float* values, uint64_t count) {
  constexpr int kLanes = 32;
  float lanes[kLanes] = {};
  uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  float sum = 0;
  for (float lane : lanes) sum += lane;
  for (; i < count; ++i) sum += values[i];
  return sum;
}

void Reduce(const float* values, uint64_t count, float* sums) {
  for (uint64_t k = 0; k < kWindows; ++k) {
    const uint64_t begin = WindowBegin(k, count);
    sums[k] = SumRange(values + begin, WindowEnd(k, count) - begin);
  }
}

class CpuEngine final : public Engine {
 public:
  int PreferredMemoryType() const override { return kMemoryCpu; }
  int64_t PreferredMemoryTypeId() const override { return 0; }

  Error Run(
      Operation operation, TRITONBACKEND_Input* input, uint64_t byte_length, uint32_t buffer_count,
      const Output& output, Times* times) override {
    if (output.memory_type == kMemoryGpu) {
      return MakeError(kErrorUnsupported, "the output is in GPU memory, but this instance runs on the CPU");
    }
    const void* data = nullptr;
    ZH_RETURN_IF_ERROR(Locate(input, byte_length, buffer_count, &data));
    times->compute_start = NowNs();
    switch (operation) {
      case Operation::kIdentity:
        std::memcpy(output.data, data, byte_length);
        break;
      case Operation::kReduce:
        Reduce(static_cast<const float*>(data), byte_length / sizeof(float), static_cast<float*>(output.data));
        break;
    }
    times->compute_end = NowNs();
    return nullptr;
  }

 private:
  // A tensor in one piece is used where it lies; one in several pieces is gathered first.
  Error Locate(TRITONBACKEND_Input* input, uint64_t byte_length, uint32_t buffer_count, const void** data) {
    if (buffer_count != 1 && gathered_length_ < byte_length) {
      gathered_.reset(new (std::nothrow) unsigned char[byte_length]);
      gathered_length_ = gathered_ ? byte_length : 0;
      if (!gathered_) return MakeError(kErrorInternal, "no memory to gather an input of %lu bytes", byte_length);
    }
    uint64_t filled = 0;
    for (uint32_t i = 0; i < buffer_count; ++i) {
      const void* part = nullptr;
      uint64_t part_length = 0;
      int memory_type = kMemoryCpu;
      int64_t memory_type_id = 0;
      ZH_RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, i, &part, &part_length, &memory_type, &memory_type_id));
      if (memory_type == kMemoryGpu) {
        return MakeError(kErrorUnsupported, "the input is in GPU memory, but this instance runs on the CPU");
      }
      if (part_length > byte_length - filled) break;
      if (buffer_count == 1) {
        *data = part;
      } else {
        std::memcpy(gathered_.get() + filled, part, part_length);
        *data = gathered_.get();
      }
      filled += part_length;
    }
    if (filled != byte_length) {
      return MakeError(kErrorInvalidArgument, "the input's buffers do not add up to its %lu bytes", byte_length);
    }
    return nullptr;
  }

  std::unique_ptr<unsigned char[]> gathered_;
  uint64_t gathered_length_ = 0;
};

}  // namespace

std::unique_ptr<Engine> MakeCpuEngine() { return std::make_unique<CpuEngine>(); }

}  // namespace zerohop_bench
