// Device memory (allocated here, or opened from another process) and page-locked host memory.
#pragma once

#include <cstddef>
#include <memory>

#include "context.h"
#include "external_buffer.h"
#include "status.h"
#include "wrap.h"

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

// Freed by Free(), which says how it went. Dropped without it (collected by GC, or its environment ended), it is freed
// on the addon's threads after all work of the context, because nobody knows any more what was using it.
class DeviceMemory {
 public:
  enum class Origin { kAllocated, kIpc };

  DeviceMemory(const Context* context, Origin origin) : context_(context), origin_(origin) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  Status Allocate(size_t bytes);
  // Opens a peer's handle and checks that it holds at least `bytes`.
  Status OpenIpc(const CUipcMemHandle& handle, size_t bytes);
  Status Free();

  const Context& context() const { return *context_; }
  CUdeviceptr address() const { return address_; }

 private:
  const Context* context_;
  Origin origin_;
  CUdeviceptr address_ = 0;
};

class HostMemory {
 public:
  explicit HostMemory(const Context* context) : context_(context) {}
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  Status Allocate(size_t bytes);
  Status Free();

  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return size_; }

 private:
  const Context* context_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

// Page-locked memory together with the ArrayBuffer that shows it.
struct PinnedBuffer {
  std::shared_ptr<HostMemory> memory;
  std::shared_ptr<BufferOwner> owner;
};

// Success for what a free may meet while the driver is going away with the process.
Status FreeStatus(CUresult result, const char* call, int device);

template <>
struct TypeTag<DeviceMemory> {
  static constexpr napi_type_tag value = {0x5a65726f686f7003, 0x2f7d90b45ae14c03};
};

template <>
struct TypeTag<PinnedBuffer> {
  static constexpr napi_type_tag value = {0x5a65726f686f7004, 0x81c3e65d07fb4f04};
};

void ExportMemory(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
