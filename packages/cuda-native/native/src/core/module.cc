#include "module.h"

#include <mutex>
#include <utility>

#include "driver_api.h"
#include "reclaim.h"

namespace zerohop {

namespace {

constexpr size_t kLogBytes = 8192;
// What a kernel may use without asking.
constexpr int kPlainSharedBytes = 48 * 1024;

Status ReadAttributes(const Context& context, Kernel* kernel) {
  const std::pair<int*, int> attributes[] = {
      {&kernel->max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {&kernel->registers, CU_FUNC_ATTRIBUTE_NUM_REGS},
      {&kernel->static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
  };
  for (const auto& [value, attribute] : attributes) {
    Status status = CudaStatus(driver.cuFuncGetAttribute(value, attribute, kernel->function), "cuFuncGetAttribute",
                               context.ordinal);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

// All that look up an entry point get the same function, so what one of them asked for is never made less. One at a time:
// between reading and writing somebody else may ask for more.
Status AllowSharedBytes(const Context& context, CUfunction function, int bytes) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  int allowed = 0;
  Status status =
      CudaStatus(driver.cuFuncGetAttribute(&allowed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function),
                 "cuFuncGetAttribute", context.ordinal);
  if (!status.ok() || allowed >= bytes) return status;
  return CudaStatus(driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
                    "cuFuncSetAttribute", context.ordinal, std::to_string(bytes) + " bytes of dynamic shared memory");
}

// The driver has no count of parameters: INVALID_VALUE marks the end.
Status ReadParameters(const Context& context, Kernel* kernel) {
  if (driver.cuFuncGetParamInfo == nullptr) return Status::Ok();
  for (size_t index = 0;; ++index) {
    Parameter parameter = {};
    const CUresult result =
        driver.cuFuncGetParamInfo(kernel->function, index, &parameter.offset, &parameter.size);
    if (result == CUDA_ERROR_INVALID_VALUE) break;
    // A driver that can't tell for this image: the signature is then taken as it is.
    if (result == CUDA_ERROR_NOT_SUPPORTED) return Status::Ok();
    Status status = CudaStatus(result, "cuFuncGetParamInfo", context.ordinal);
    if (!status.ok()) return status;
    kernel->parameters.push_back(parameter);
  }
  kernel->has_parameters = true;
  return Status::Ok();
}

}  // namespace

Module::~Module() {
  if (module_ == nullptr) return;
  Reclaim(context_, true, [module = module_, device = context_->ordinal] {
    return FreeStatus(driver.cuModuleUnload(module), "cuModuleUnload", device);
  });
}

Status Module::Load(const std::string& image) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  char log[kLogBytes] = {};
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(kLogBytes - 1)};
  const CUresult result = driver.cuModuleLoadDataEx(&module_, image.data(), 2, options, values);
  if (result != CUDA_SUCCESS) module_ = nullptr;
  return CudaStatus(result, "cuModuleLoadDataEx", context_->ordinal, log);
}

Status Module::Unload() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return FreeStatus(driver.cuModuleUnload(std::exchange(module_, nullptr)), "cuModuleUnload", context_->ordinal);
}

Status FindKernel(std::shared_ptr<Module> module, const std::string& name, int dynamic_shared_bytes, Kernel* kernel) {
  const Context& context = module->context();
  ContextScope scope(context);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(driver.cuModuleGetFunction(&kernel->function, module->get(), name.c_str()),
                             "cuModuleGetFunction", context.ordinal, "kernel '" + name + "'");
  // Where code is loaded lazily, asking for an attribute loads it on drivers without cuFuncLoad.
  if (status.ok() && driver.cuFuncLoad != nullptr) {
    status = CudaStatus(driver.cuFuncLoad(kernel->function), "cuFuncLoad", context.ordinal);
  }
  if (status.ok()) status = ReadAttributes(context, kernel);
  if (status.ok()) status = ReadParameters(context, kernel);
  if (status.ok() && dynamic_shared_bytes > kPlainSharedBytes - kernel->static_shared_bytes) {
    status = AllowSharedBytes(context, kernel->function, dynamic_shared_bytes);
  }
  kernel->module = std::move(module);
  return status;
}

Status Launch(const Kernel& kernel, CUstream stream, const LaunchSize& size, void* arguments, size_t bytes) {
  const int ordinal = kernel.module->context().ordinal;
  void* extra[] = {reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_POINTER), arguments,
                   reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_SIZE), &bytes,
                   reinterpret_cast<void*>(CU_LAUNCH_PARAM_END)};
  void** passed = bytes == 0 ? nullptr : extra;
  if (size.cluster[0] == 0) {
    return CudaStatus(driver.cuLaunchKernel(kernel.function, size.grid[0], size.grid[1], size.grid[2], size.block[0],
                                            size.block[1], size.block[2], size.shared_bytes, stream, nullptr, passed),
                      "cuLaunchKernel", ordinal);
  }
  if (driver.cuLaunchKernelEx == nullptr) {
    return CudaStatus(CUDA_ERROR_NOT_SUPPORTED, "cuLaunchKernelEx", ordinal,
                      "this driver has no clusters (11.8 and newer have)");
  }
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.x = size.cluster[0];
  attribute.value.y = size.cluster[1];
  attribute.value.z = size.cluster[2];
  CUlaunchConfig config = {size.grid[0],  size.grid[1],  size.grid[2],      size.block[0], size.block[1],
                           size.block[2], size.shared_bytes, stream, &attribute,    1};
  return CudaStatus(driver.cuLaunchKernelEx(&config, kernel.function, nullptr, passed), "cuLaunchKernelEx", ordinal);
}

}  // namespace zerohop
