#include "memory.h"

#include <cstring>
#include <utility>

#include "../core/unasked.h"
#include "arguments.h"
#include "environment.h"
#include "errors.h"
#include "napi_setup.h"
#include "shared_memory.h"
#include "wrap.h"

namespace zerohop {

namespace {

Napi::Object Present(napi_env env, const std::shared_ptr<DeviceMemory>& memory, int64_t external) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("handle", Napi::Value(env, Wrap(env, memory, external)));
  object.Set("address", Napi::BigInt::New(env, static_cast<uint64_t>(memory->address())));
  return object;
}

// memAlloc(device, byteLength, exportable)
Napi::Value MemAlloc(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const size_t bytes = ToSize(info.Env(), info[1]);
  const bool exportable = info[2].As<Napi::Boolean>();
  auto memory = std::make_shared<DeviceMemory>(context, DeviceMemory::Origin::kAllocated);
  auto handle = std::make_shared<CUipcMemHandle>();
  const auto work = [memory, handle, bytes, exportable] {
    Status status = memory->Allocate(bytes);
    if (!status.ok() || !exportable) return status;
    status = memory->Zero(bytes);
    // The memory then goes with the last reference, after whatever may still be zeroing it.
    if (!status.ok()) return status;
    status = memory->Export(handle.get());
    // Nothing uses it: it is there again when the caller hears of the failure. In a lost context nothing is given back.
    if (!status.ok() && !status.sticky) ReportUnasked(memory->Free());
    return status;
  };
  const auto result = [memory, handle, bytes, exportable](napi_env env) -> napi_value {
    Napi::Object object = Present(env, memory, static_cast<int64_t>(bytes));
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
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  CUipcMemHandle handle;
  memcpy(handle.reserved, info[1].As<Napi::Uint8Array>().Data(), sizeof handle.reserved);
  const size_t bytes = ToSize(info.Env(), info[2]);
  auto memory = std::make_shared<DeviceMemory>(context, DeviceMemory::Origin::kIpc);
  const auto work = [memory, handle, bytes] { return memory->OpenIpc(handle, bytes); };
  const auto result = [memory](napi_env env) -> napi_value { return Present(env, memory, 0); };
  return Napi::Value(info.Env(), Async(info.Env(), work, result));
}

// memWrap(device, address, byteLength): `{ handle, address }`
Napi::Value MemWrap(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  bool lossless = false;
  const uint64_t address = info[1].As<Napi::BigInt>().Uint64Value(&lossless);
  auto memory = std::make_shared<DeviceMemory>(context, DeviceMemory::Origin::kBorrowed);
  const Status status = memory->Borrow(address, ToSize(info.Env(), info[2]));
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  return Present(info.Env(), memory, 0);
}

// memShow(device, pinned): page-locked memory as the device sees it, `{ handle, address }`
Napi::Value MemShow(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  const auto* pinned = Peek<PinnedBuffer>(info.Env(), info[1]);
  if (context == nullptr || pinned == nullptr) return Napi::Value();
  auto memory = std::make_shared<DeviceMemory>(context, DeviceMemory::Origin::kBorrowed);
  memory->Show(*pinned->memory);
  return Present(info.Env(), memory, 0);
}

// memFree(memory)
Napi::Value MemFree(const Napi::CallbackInfo& info) {
  auto memory = Unwrap<DeviceMemory>(info.Env(), info[0]);
  if (memory == nullptr) return Napi::Value();
  ReleaseExternal<DeviceMemory>(info.Env(), info[0]);
  return Napi::Value(info.Env(), Async(info.Env(), [memory] { return memory->Free(); }));
}

void PresentPinned(napi_env env, Napi::Object object, const std::shared_ptr<PinnedBuffer>& pinned) {
  object.Set("handle", Napi::Value(env, Wrap(env, pinned)));
  object.Set("deviceAddress", Napi::BigInt::New(env, static_cast<uint64_t>(pinned->memory->device_address())));
}

// pinnedAlloc(device, byteLength)
Napi::Value PinnedAlloc(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const size_t bytes = ToSize(info.Env(), info[1]);
  auto pinned = std::make_shared<PinnedBuffer>();
  pinned->memory = std::make_shared<HostMemory>(context);
  const auto result = [pinned](napi_env env) -> napi_value {
    const auto& memory = pinned->memory;
    napi_value buffer = MakeExternalBuffer(env, memory->data(), memory->size(), memory, &pinned->owner);
    if (buffer == nullptr) return nullptr;
    Napi::Object object = Napi::Object::New(env);
    PresentPinned(env, object, pinned);
    object.Set("buffer", Napi::Value(env, buffer));
    return object;
  };
  return Napi::Value(info.Env(), Async(info.Env(), [pinned, bytes] { return pinned->memory->Allocate(bytes); }, result));
}

// pinnedRegister(device, region): the whole of a shared region, which stays mapped meanwhile.
Napi::Value PinnedRegister(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const auto* region = Peek<SharedRegion>(info.Env(), info[1]);
  if (region == nullptr) return Napi::Value();
  auto pinned = std::make_shared<PinnedBuffer>();
  pinned->memory = std::make_shared<HostMemory>(context);
  const std::shared_ptr<Mapping> mapping = region->region.mapping;
  const auto work = [pinned, mapping] {
    return pinned->memory->Register(mapping, mapping->data(), mapping->size());
  };
  const auto result = [pinned](napi_env env) -> napi_value {
    Napi::Object object = Napi::Object::New(env);
    PresentPinned(env, object, pinned);
    return object;
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, result));
}

// pinnedFree(pinned, buffer)
Napi::Value PinnedFree(const Napi::CallbackInfo& info) {
  auto pinned = Unwrap<PinnedBuffer>(info.Env(), info[0]);
  if (pinned == nullptr) return Napi::Value();
  DetachExternalBuffer(info.Env(), info[1], pinned->owner);
  return Napi::Value(info.Env(), Async(info.Env(), [pinned] {
                       // Moved elsewhere by transfer(): its new buffer's finalizer frees it.
                       if (pinned->owner != nullptr && pinned->owner->memory != nullptr) return Status::Ok();
                       return pinned->memory->Free();
                     }));
}

}  // namespace

void ExportMemory(Napi::Env env, Napi::Object exports) {
  exports.Set("memAlloc", Napi::Function::New<MemAlloc>(env, "memAlloc"));
  exports.Set("memOpenIpc", Napi::Function::New<MemOpenIpc>(env, "memOpenIpc"));
  exports.Set("memWrap", Napi::Function::New<MemWrap>(env, "memWrap"));
  exports.Set("memShow", Napi::Function::New<MemShow>(env, "memShow"));
  exports.Set("memFree", Napi::Function::New<MemFree>(env, "memFree"));
  exports.Set("pinnedAlloc", Napi::Function::New<PinnedAlloc>(env, "pinnedAlloc"));
  exports.Set("pinnedRegister", Napi::Function::New<PinnedRegister>(env, "pinnedRegister"));
  exports.Set("pinnedFree", Napi::Function::New<PinnedFree>(env, "pinnedFree"));
}

}  // namespace zerohop
