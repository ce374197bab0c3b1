#include "memory.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "driver_api.h"
#include "reclaim.h"
#include "unasked.h"

namespace zerohop {

namespace {

std::string Requested(size_t bytes) { return "requested " + std::to_string(bytes) + " bytes"; }

Status FreeDevice(CUdeviceptr address, DeviceMemory::Origin origin, int device) {
  if (origin == DeviceMemory::Origin::kIpc) {
    return FreeStatus(driver.cuIpcCloseMemHandle(address), "cuIpcCloseMemHandle", device);
  }
  return FreeStatus(driver.cuMemFree(address), "cuMemFree", device);
}

// What is behind registered memory. It stays until it is known to be registered no more, also when nobody is left to
// ask; here it is within reach. Never destroyed.
class Backings {
 public:
  static Backings& Instance() {
    static Backings* backings = new Backings;
    return *backings;
  }

  std::shared_ptr<void>* Add(std::shared_ptr<void> memory) {
    auto backing = std::make_unique<std::shared_ptr<void>>(std::move(memory));
    std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<void>* key = backing.get();
    all_.emplace(key, std::move(backing));
    return key;
  }

  void Remove(std::shared_ptr<void>* backing) {
    std::unique_ptr<std::shared_ptr<void>> removed;
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = all_.find(backing);
    if (found == all_.end()) return;
    removed = std::move(found->second);
    all_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<std::shared_ptr<void>*, std::unique_ptr<std::shared_ptr<void>>> all_;
};

// `backing` is that of registered memory, else null.
Status FreeHost(void* data, std::shared_ptr<void>* backing, int device) {
  if (backing == nullptr) return FreeStatus(driver.cuMemFreeHost(data), "cuMemFreeHost", device);
  Status status = FreeStatus(driver.cuMemHostUnregister(data), "cuMemHostUnregister", device);
  // Memory that may still be registered stays mapped: the driver would take what is mapped there next for it.
  if (status.ok() || status.code == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED) Backings::Instance().Remove(backing);
  return status;
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  if (address_ == 0 || origin_ == Origin::kBorrowed) return;
  Reclaim(context_, true, [address = address_, origin = origin_, device = context_->ordinal] {
    return FreeDevice(address, origin, device);
  });
}

Status DeviceMemory::Allocate(size_t bytes) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(driver.cuMemAlloc(&address_, bytes), "cuMemAlloc", context_->ordinal, Requested(bytes));
  if (!status.ok()) address_ = 0;
  return status;
}

// On the context's own stream, so that the user's streams neither wait nor are waited for.
Status DeviceMemory::Zero(size_t bytes) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(driver.cuMemsetD8Async(address_, 0, bytes, context_->service), "cuMemsetD8Async",
                             context_->ordinal);
  if (!status.ok()) return status;
  return CudaStatus(driver.cuStreamSynchronize(context_->service), "cuStreamSynchronize", context_->ordinal);
}

Status DeviceMemory::Export(CUipcMemHandle* handle) const {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return CudaStatus(driver.cuIpcGetMemHandle(handle, address_), "cuIpcGetMemHandle", context_->ordinal);
}

Status DeviceMemory::OpenIpc(const CUipcMemHandle& handle, size_t bytes) {
  const int ordinal = context_->ordinal;
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(driver.cuIpcOpenMemHandle(&address_, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                             "cuIpcOpenMemHandle", ordinal);
  if (!status.ok()) {
    address_ = 0;
    return status;
  }
  CUdeviceptr base = 0;
  size_t size = 0;
  status = CudaStatus(driver.cuMemGetAddressRange(&base, &size, address_), "cuMemGetAddressRange", ordinal);
  if (status.ok() && size < bytes) {
    status = CudaStatus(CUDA_ERROR_INVALID_VALUE, "cuIpcOpenMemHandle", ordinal,
                        "the handle stands for " + std::to_string(size) + " bytes, not for " + std::to_string(bytes));
  }
  if (!status.ok()) {
    // What the caller hears is why it was not kept. In a lost context there is nothing to be given back.
    const CUdeviceptr address = std::exchange(address_, 0);
    if (!status.sticky) ReportUnasked(FreeDevice(address, Origin::kIpc, ordinal));
  }
  return status;
}

Status DeviceMemory::Borrow(CUdeviceptr address, size_t bytes) {
  const int ordinal = context_->ordinal;
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  int type = 0;
  int owner = -1;
  Status status = CudaStatus(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
                             "cuPointerGetAttribute", ordinal, "the address is not of the CUDA driver");
  if (status.ok()) {
    status = CudaStatus(driver.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address),
                        "cuPointerGetAttribute", ordinal);
  }
  if (!status.ok()) return status;
  if (type != CU_MEMORYTYPE_DEVICE || owner != ordinal) {
    return CudaStatus(CUDA_ERROR_INVALID_VALUE, "cuPointerGetAttribute", ordinal,
                      type != CU_MEMORYTYPE_DEVICE ? "the address is memory of the host"
                                                   : "the address is memory of device " + std::to_string(owner));
  }
  CUdeviceptr base = 0;
  size_t size = 0;
  status = CudaStatus(driver.cuMemGetAddressRange(&base, &size, address), "cuMemGetAddressRange", ordinal);
  if (!status.ok()) return status;
  const size_t rest = size - static_cast<size_t>(address - base);
  if (rest < bytes) {
    return CudaStatus(CUDA_ERROR_INVALID_VALUE, "cuMemGetAddressRange", ordinal,
                      "the allocation has " + std::to_string(rest) + " bytes from the address on, not " +
                          std::to_string(bytes));
  }
  address_ = address;
  return Status::Ok();
}

void DeviceMemory::Show(const HostMemory& memory) { address_ = memory.device_address(); }

Status DeviceMemory::Free() {
  if (origin_ == Origin::kBorrowed) {
    address_ = 0;
    return Status::Ok();
  }
  ContextScope scope(*context_);
  // Without a context nothing was tried: the destructor will.
  if (!scope.status().ok()) return scope.status();
  // Not tried again when it fails: the driver no longer vouches for the address.
  return FreeDevice(std::exchange(address_, 0), origin_, context_->ordinal);
}

HostMemory::~HostMemory() {
  if (data_ == nullptr) return;
  Reclaim(context_, true, [data = data_, backing = backing_, device = context_->ordinal] {
    return FreeHost(data, backing, device);
  });
}

Status HostMemory::Allocate(size_t bytes) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(
      driver.cuMemHostAlloc(&data_, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc",
      context_->ordinal, Requested(bytes));
  if (!status.ok()) {
    data_ = nullptr;
    return status;
  }
  size_ = bytes;
  return FindDeviceAddress();
}

Status HostMemory::Register(std::shared_ptr<void> backing, void* data, size_t bytes) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(
      driver.cuMemHostRegister(data, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
      "cuMemHostRegister", context_->ordinal, Requested(bytes));
  if (!status.ok()) return status;
  backing_ = Backings::Instance().Add(std::move(backing));
  data_ = data;
  size_ = bytes;
  return FindDeviceAddress();
}

Status HostMemory::FindDeviceAddress() {
  return CudaStatus(driver.cuMemHostGetDevicePointer(&device_address_, data_, 0), "cuMemHostGetDevicePointer",
                    context_->ordinal);
}

Status HostMemory::Free() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return FreeHost(std::exchange(data_, nullptr), std::exchange(backing_, nullptr), context_->ordinal);
}

}  // namespace zerohop
