#include "memory.h"

#include <cstring>
#include <string>
#include <utility>

#include "driver_api.h"
#include "environment.h"
#include "executor.h"
#include "napi_setup.h"

namespace zerohop {

namespace {

std::string Requested(size_t bytes) { return "requested " + std::to_string(bytes) + " bytes"; }

// Frees what nobody closed, after all work of its context.
void Reclaim(const Context* context, std::function<CUresult()> release) {
  if (Exiting()) return;
  Execute([context, release = std::move(release)] {
    if (Exiting()) return;
    ContextScope scope(*context);
    if (!scope.status().ok()) return;
    driver.cuCtxSynchronize();
    release();
  });
}

}  // namespace

Status FreeStatus(CUresult result, const char* call, int device) {
  if (result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) return Status::Ok();
  return CudaStatus(result, call, device);
}

DeviceMemory::~DeviceMemory() {
  if (address_ == 0) return;
  Reclaim(context_, [address = address_, origin = origin_] {
    return origin == Origin::kIpc ? driver.cuIpcCloseMemHandle(address) : driver.cuMemFree(address);
  });
}

Status DeviceMemory::Allocate(size_t bytes) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return CudaStatus(driver.cuMemAlloc(&address_, bytes), "cuMemAlloc", context_->ordinal, Requested(bytes));
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
    driver.cuIpcCloseMemHandle(address_);
    address_ = 0;
  }
  return status;
}

Status DeviceMemory::Free() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  // Not tried again when it fails: the driver no longer vouches for the address.
  const CUdeviceptr address = std::exchange(address_, 0);
  if (origin_ == Origin::kIpc) {
    return FreeStatus(driver.cuIpcCloseMemHandle(address), "cuIpcCloseMemHandle", context_->ordinal);
  }
  return FreeStatus(driver.cuMemFree(address), "cuMemFree", context_->ordinal);
}

HostMemory::~HostMemory() {
  if (data_ == nullptr) return;
  Reclaim(context_, [data = data_] { return driver.cuMemFreeHost(data); });
}

Status HostMemory::Allocate(size_t bytes) {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  size_ = bytes;
  return CudaStatus(driver.cuMemHostAlloc(&data_, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc",
                    context_->ordinal, Requested(bytes));
}

Status HostMemory::Free() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return FreeStatus(driver.cuMemFreeHost(std::exchange(data_, nullptr)), "cuMemFreeHost", context_->ordinal);
}

namespace {

size_t ToSize(const Napi::Value& value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

// Zeroes on the context's own stream, so that the user's streams neither wait nor are waited for.
Status Zero(const DeviceMemory& memory, size_t bytes) {
  const Context& context = memory.context();
  ContextScope scope(context);
  if (!scope.status().ok()) return scope.status();
  Status status = CudaStatus(driver.cuMemsetD8Async(memory.address(), 0, bytes, context.service), "cuMemsetD8Async",
                             context.ordinal);
  if (!status.ok()) return status;
  return CudaStatus(driver.cuStreamSynchronize(context.service), "cuStreamSynchronize", context.ordinal);
}

Status Export(const DeviceMemory& memory, CUipcMemHandle* handle) {
  ContextScope scope(memory.context());
  if (!scope.status().ok()) return scope.status();
  return CudaStatus(driver.cuIpcGetMemHandle(handle, memory.address()), "cuIpcGetMemHandle", memory.context().ordinal);
}

Napi::Object Present(napi_env env, const std::shared_ptr<DeviceMemory>& memory) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("handle", Napi::Value(env, Wrap(env, memory)));
  object.Set("address", Napi::BigInt::New(env, static_cast<uint64_t>(memory->address())));
  return object;
}

// memAlloc(device, byteLength, exportable)
Napi::Value MemAlloc(const Napi::CallbackInfo& info) {
  const auto context = Unwrap<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const size_t bytes = ToSize(info[1]);
  const bool exportable = info[2].As<Napi::Boolean>();
  auto memory = std::make_shared<DeviceMemory>(context.get(), DeviceMemory::Origin::kAllocated);
  auto handle = std::make_shared<CUipcMemHandle>();
  const auto work = [memory, handle, bytes, exportable] {
    Status status = memory->Allocate(bytes);
    if (!status.ok() || !exportable) return status;
    status = Zero(*memory, bytes);
    // On failure the memory goes with the last reference, after whatever may still be zeroing it.
    return status.ok() ? Export(*memory, handle.get()) : status;
  };
  const auto result = [memory, handle, exportable](napi_env env) -> napi_value {
    Napi::Object object = Present(env, memory);
    if (exportable) {
      Napi::Uint8Array raw = Napi::Uint8Array::New(env, sizeof handle->reserved);
      // A worker that is being terminated gives out no more memory.
      if (raw.IsEmpty()) return nullptr;
      memcpy(raw.Data(), handle->reserved, sizeof handle->reserved);
      object.Set("rawHandle", raw);
    }
    return object;
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, result));
}

// memOpenIpc(device, rawHandle, byteLength)
Napi::Value MemOpenIpc(const Napi::CallbackInfo& info) {
  const auto context = Unwrap<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  CUipcMemHandle handle;
  memcpy(handle.reserved, info[1].As<Napi::Uint8Array>().Data(), sizeof handle.reserved);
  const size_t bytes = ToSize(info[2]);
  auto memory = std::make_shared<DeviceMemory>(context.get(), DeviceMemory::Origin::kIpc);
  return Napi::Value(info.Env(), Async(
                                     info.Env(), [memory, handle, bytes] { return memory->OpenIpc(handle, bytes); },
                                     [memory](napi_env env) -> napi_value { return Present(env, memory); }));
}

// memFree(memory)
Napi::Value MemFree(const Napi::CallbackInfo& info) {
  auto memory = Unwrap<DeviceMemory>(info.Env(), info[0]);
  if (memory == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [memory] { return memory->Free(); }));
}

// pinnedAlloc(device, byteLength)
Napi::Value PinnedAlloc(const Napi::CallbackInfo& info) {
  const auto context = Unwrap<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const size_t bytes = ToSize(info[1]);
  auto pinned = std::make_shared<PinnedBuffer>();
  pinned->memory = std::make_shared<HostMemory>(context.get());
  const auto result = [pinned](napi_env env) -> napi_value {
    const auto& memory = pinned->memory;
    napi_value buffer = MakeExternalBuffer(env, memory->data(), memory->size(), memory, &pinned->owner);
    if (buffer == nullptr) return nullptr;
    Napi::Object object = Napi::Object::New(env);
    object.Set("handle", Napi::Value(env, Wrap(env, pinned)));
    object.Set("buffer", Napi::Value(env, buffer));
    return object;
  };
  return Napi::Value(info.Env(), Async(info.Env(), [pinned, bytes] { return pinned->memory->Allocate(bytes); }, result));
}

// pinnedFree(pinned, buffer)
Napi::Value PinnedFree(const Napi::CallbackInfo& info) {
  auto pinned = Unwrap<PinnedBuffer>(info.Env(), info[0]);
  if (pinned == nullptr) return Napi::Value();
  DetachExternalBuffer(info.Env(), info[1], pinned->owner);
  return Napi::Value(info.Env(), Async(info.Env(), [pinned] {
                       // Moved elsewhere by transfer(): its new buffer's finalizer frees it.
                       if (pinned->owner->memory != nullptr) return Status::Ok();
                       return pinned->memory->Free();
                     }));
}

}  // namespace

void ExportMemory(Napi::Env env, Napi::Object exports) {
  exports.Set("memAlloc", Napi::Function::New<MemAlloc>(env, "memAlloc"));
  exports.Set("memOpenIpc", Napi::Function::New<MemOpenIpc>(env, "memOpenIpc"));
  exports.Set("memFree", Napi::Function::New<MemFree>(env, "memFree"));
  exports.Set("pinnedAlloc", Napi::Function::New<PinnedAlloc>(env, "pinnedAlloc"));
  exports.Set("pinnedFree", Napi::Function::New<PinnedFree>(env, "pinnedFree"));
}

}  // namespace zerohop
