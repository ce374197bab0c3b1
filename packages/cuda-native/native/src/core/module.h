// Modules of device code and their kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "context.h"
#include "status.h"

namespace zerohop {

// As with memory: dropped without Unload(), it is unloaded on the addon's threads after all work of the process.
class Module {
 public:
  explicit Module(const Context* context) : context_(context) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  // Loads a fatbin, a cubin or NUL-terminated PTX. May take seconds: PTX is compiled.
  Status Load(const std::string& image);
  Status Unload();

  const Context& context() const { return *context_; }
  CUmodule get() const { return module_; }

 private:
  const Context* context_;
  CUmodule module_ = nullptr;
};

struct Parameter {
  size_t offset;
  size_t size;
};

// An entry point of a module, which it keeps loaded.
struct Kernel {
  std::shared_ptr<Module> module;
  CUfunction function = nullptr;
  int max_threads = 0;
  int registers = 0;
  int static_shared_bytes = 0;
  // Whether the driver can tell the parameters (12.4 and newer).
  bool has_parameters = false;
  std::vector<Parameter> parameters;
};

// Finds an entry point and loads its code, so that the first launch does not. Where `dynamic_shared_bytes` is more than
// kernels may use without asking, asks. May wait.
Status FindKernel(std::shared_ptr<Module> module, const std::string& name, int dynamic_shared_bytes, Kernel* kernel);

struct LaunchSize {
  uint32_t grid[3];
  uint32_t block[3];
  // All 0 where the kernel is launched without clusters.
  uint32_t cluster[3];
  uint32_t shared_bytes;
};

// Enqueues a launch. `arguments` is laid out as the device expects it, and copied. The context is current.
Status Launch(const Kernel& kernel, CUstream stream, const LaunchSize& size, void* arguments, size_t bytes);

}  // namespace zerohop
