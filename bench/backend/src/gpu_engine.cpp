#include "cuda_driver.h"
#include "engine.h"

// The committed PTX, embedded by kernels_image.S; NUL-terminated.
extern "C" __attribute__((visibility("hidden"))) const char zerohop_bench_kernels[];

namespace zerohop_bench {
namespace {

// Threads of a block; window_sums in kernels/window_sums.cu is written for this number.
constexpr unsigned kThreads = 256;

// The instance's context is current only inside a call: the thread is Triton's.
class ContextScope {
 public:
  explicit ContextScope(const CudaDriver& driver) : driver_(driver) {}
  ~ContextScope() {
    CUcontext ignored = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&ignored);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  Error Enter(CUcontext context) {
    ZH_CUDA(driver_, cuCtxPushCurrent_v2, context);
    pushed_ = true;
    return nullptr;
  }

 private:
  const CudaDriver& driver_;
  bool pushed_ = false;
};

// Device memory that grows to the largest size asked for.
class Scratch {
 public:
  Error Reserve(const CudaDriver& driver, uint64_t byte_length) {
    if (byte_length <= byte_length_) return nullptr;
    Free(driver);
    ZH_CUDA(driver, cuMemAlloc_v2, &address_, byte_length);
    byte_length_ = byte_length;
    return nullptr;
  }
  void Free(const CudaDriver& driver) {
    if (address_) driver.cuMemFree_v2(address_);
    address_ = 0;
    byte_length_ = 0;
  }
  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
  uint64_t byte_length_ = 0;
};

class GpuEngine final : public Engine {
 public:
  explicit GpuEngine(const CudaDriver& driver) : driver_(driver) {}

  ~GpuEngine() override {
    if (!context_) return;
    {
      ContextScope scope(driver_);
      if (Error error = scope.Enter(context_)) {
        TRITONSERVER_ErrorDelete(error);
      } else {
        if (stream_) driver_.cuStreamSynchronize(stream_);
        input_.Free(driver_);
        output_.Free(driver_);
        if (module_) driver_.cuModuleUnload(module_);
        if (stream_) driver_.cuStreamDestroy_v2(stream_);
      }
    }
    driver_.cuDevicePrimaryCtxRelease_v2(device_);
  }

  Error Open(int32_t ordinal) {
    ordinal_ = ordinal;
    ZH_CUDA(driver_, cuDeviceGet, &device_, ordinal);
    ZH_CUDA(driver_, cuDevicePrimaryCtxRetain, &context_, device_);
    ContextScope scope(driver_);
    ZH_RETURN_IF_ERROR(scope.Enter(context_));
    ZH_CUDA(driver_, cuStreamCreate, &stream_, kStreamNonBlocking);
    ZH_CUDA(driver_, cuModuleLoadData, &module_, zerohop_bench_kernels);
    ZH_CUDA(driver_, cuModuleGetFunction, &window_sums_, module_, "window_sums");
    return nullptr;
  }

  int PreferredMemoryType() const override { return kMemoryGpu; }
  int64_t PreferredMemoryTypeId() const override { return ordinal_; }

  Error Run(
      Operation operation, TRITONBACKEND_Input* input, uint64_t byte_length, uint32_t buffer_count,
      const Output& output, Times* times) override {
    ContextScope scope(driver_);
    ZH_RETURN_IF_ERROR(scope.Enter(context_));
    Error error = RunInContext(operation, input, byte_length, buffer_count, output, times);
    // Whatever was enqueued before a failure may still touch the request's blocks, which the answer gives back.
    if (error) driver_.cuStreamSynchronize(stream_);
    return error;
  }

 private:
  Error RunInContext(
      Operation operation, TRITONBACKEND_Input* input, uint64_t byte_length, uint32_t buffer_count,
      const Output& output, Times* times) {
    const bool output_on_gpu = output.memory_type == kMemoryGpu;
    if (output_on_gpu && output.memory_type_id != ordinal_) {
      return MakeError(kErrorUnsupported, "the output is on GPU %ld, this instance on GPU %d", output.memory_type_id,
                       ordinal_);
    }
    CUdeviceptr source = 0;
    ZH_RETURN_IF_ERROR(Locate(input, byte_length, buffer_count, &source));
    times->compute_start = NowNs();
    CUdeviceptr result = source;
    if (operation == Operation::kReduce) {
      if (output_on_gpu) {
        result = reinterpret_cast<CUdeviceptr>(output.data);
      } else {
        ZH_RETURN_IF_ERROR(output_.Reserve(driver_, output.byte_length));
        result = output_.address();
      }
      uint64_t count = byte_length / sizeof(float);
      uint64_t windows = kWindows;
      void* arguments[] = {&source, &count, &result, &windows};
      ZH_CUDA(driver_, cuLaunchKernel, window_sums_, static_cast<unsigned>(kWindows), 1, 1, kThreads, 1, 1, 0, stream_,
              arguments, nullptr);
    } else if (output_on_gpu) {
      ZH_CUDA(driver_, cuMemcpyDtoDAsync_v2, reinterpret_cast<CUdeviceptr>(output.data), source, byte_length, stream_);
    }
    ZH_CUDA(driver_, cuStreamSynchronize, stream_);
    times->compute_end = NowNs();
    if (!output_on_gpu) {
      ZH_CUDA(driver_, cuMemcpyDtoHAsync_v2, output.data, result, output.byte_length, stream_);
      ZH_CUDA(driver_, cuStreamSynchronize, stream_);
    }
    return nullptr;
  }

  // One piece on this GPU is used where it lies; anything else is copied to the device, and that is the "input" phase
  // of the server's statistics. Host memory is pageable here (POSIX shared memory or the message).
  Error Locate(TRITONBACKEND_Input* input, uint64_t byte_length, uint32_t buffer_count, CUdeviceptr* source) {
    uint64_t filled = 0;
    for (uint32_t i = 0; i < buffer_count; ++i) {
      const void* part = nullptr;
      uint64_t part_length = 0;
      int memory_type = kMemoryGpu;
      int64_t memory_type_id = ordinal_;
      ZH_RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, i, &part, &part_length, &memory_type, &memory_type_id));
      if (memory_type == kMemoryGpu && memory_type_id != ordinal_) {
        return MakeError(kErrorUnsupported, "the input is on GPU %ld, this instance on GPU %d", memory_type_id,
                         ordinal_);
      }
      if (memory_type == kMemoryGpu && part_length == byte_length && buffer_count == 1) {
        *source = reinterpret_cast<CUdeviceptr>(part);
        return nullptr;
      }
      if (part_length > byte_length - filled) break;
      ZH_RETURN_IF_ERROR(input_.Reserve(driver_, byte_length));
      if (memory_type == kMemoryGpu) {
        ZH_CUDA(driver_, cuMemcpyDtoDAsync_v2, input_.address() + filled, reinterpret_cast<CUdeviceptr>(part),
                part_length, stream_);
      } else {
        ZH_CUDA(driver_, cuMemcpyHtoDAsync_v2, input_.address() + filled, part, part_length, stream_);
      }
      filled += part_length;
    }
    if (filled != byte_length) {
      return MakeError(kErrorInvalidArgument, "the input's buffers do not add up to its %lu bytes", byte_length);
    }
    ZH_CUDA(driver_, cuStreamSynchronize, stream_);
    *source = input_.address();
    return nullptr;
  }

  const CudaDriver& driver_;
  int32_t ordinal_ = 0;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction window_sums_ = nullptr;
  Scratch input_;
  Scratch output_;
};

}  // namespace

Error MakeGpuEngine(int32_t device, std::unique_ptr<Engine>* engine) {
  const CudaDriver* driver = nullptr;
  ZH_RETURN_IF_ERROR(LoadCudaDriver(&driver));
  auto gpu = std::make_unique<GpuEngine>(*driver);
  ZH_RETURN_IF_ERROR(gpu->Open(device));
  *engine = std::move(gpu);
  return nullptr;
}

}  // namespace zerohop_bench
