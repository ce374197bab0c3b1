// Device memory (allocated here, opened from another process, or somebody else's) and page-locked host memory.
#pragma once

#include <cstddef>
#include <memory>

#include "context.h"
#include "status.h"

namespace zerohop {

class HostMemory;

// Freed by Free(), which says how it went. Dropped without it (collected by GC, or its environment ended), it is freed
// on the addon's threads after all work of the process, because nobody knows any more what was using it.
class DeviceMemory {
 public:
  enum class Origin { kAllocated, kIpc, kBorrowed };

  DeviceMemory(const Context* context, Origin origin) : context_(context), origin_(origin) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  Status Allocate(size_t bytes);
  // Zeroes all of it, and waits until that is done.
  Status Zero(size_t bytes);
  Status Export(CUipcMemHandle* handle) const;
  // Opens a peer's handle and checks that it holds at least `bytes`.
  Status OpenIpc(const CUipcMemHandle& handle, size_t bytes);
  // Takes somebody else's memory without owning it; checks that `bytes` at the address are this device's.
  Status Borrow(CUdeviceptr address, size_t bytes);
  // Shows page-locked memory of the host, by the address that devices know it by.
  void Show(const HostMemory& memory);
  Status Free();

  const Context& context() const { return *context_; }
  CUdeviceptr address() const { return address_; }

 private:
  const Context* context_;
  Origin origin_;
  CUdeviceptr address_ = 0;
};

// Memory of the host that the device copies from and to directly: allocated here, or registered where it lies.
class HostMemory {
 public:
  explicit HostMemory(const Context* context) : context_(context) {}
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  Status Allocate(size_t bytes);
  // Page-locks memory of `backing`, which stays at least until this is undone.
  Status Register(std::shared_ptr<void> backing, void* data, size_t bytes);
  Status Free();

  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return size_; }
  const Context& context() const { return *context_; }
  // Where kernels find the memory.
  CUdeviceptr device_address() const { return device_address_; }

 private:
  Status FindDeviceAddress();

  const Context* context_;
  void* data_ = nullptr;
  size_t size_ = 0;
  CUdeviceptr device_address_ = 0;
  // Only of registered memory. It outlives this object when the driver never said that the registration is undone.
  std::shared_ptr<void>* backing_ = nullptr;
};

}  // namespace zerohop
