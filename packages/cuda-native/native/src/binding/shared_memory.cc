#include "shared_memory.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "../core/status.h"
#include "arguments.h"
#include "environment.h"
#include "errors.h"
#include "napi_setup.h"
#include "wrap.h"

namespace zerohop {

namespace {

// A buffer over the mapping, or an empty one where nothing is mapped. Null, with an exception pending, on failure.
napi_value Show(napi_env env, const SharedRegion& region, std::shared_ptr<BufferOwner>* owner) {
  const std::shared_ptr<Mapping>& mapping = region.region.mapping;
  if (mapping == nullptr) return MakeExternalBuffer(env, nullptr, 0, nullptr, nullptr);
  return MakeExternalBuffer(env, mapping->data(), mapping->size(), mapping, owner);
}

// `{ handle, buffer }`: the JS class needs both.
napi_value Present(napi_env env, const std::shared_ptr<SharedRegion>& region) {
  napi_value buffer = Show(env, *region, &region->buffer);
  if (buffer == nullptr) return nullptr;
  Napi::Object result = Napi::Object::New(env);
  result.Set("handle", Napi::Value(env, Wrap(env, region)));
  result.Set("buffer", Napi::Value(env, buffer));
  return result;
}

// shmCreate(key, byteLength, mode, mappedOffset, mappedLength)
Napi::Value ShmCreate(const Napi::CallbackInfo& info) {
  auto region = std::make_shared<SharedRegion>();
  const std::string path = PathOf(info[0].As<Napi::String>());
  const uint64_t size = ToUint64(info.Env(), info[1]);
  const mode_t mode = static_cast<mode_t>(info[2].As<Napi::Number>().Uint32Value());
  const uint64_t offset = ToUint64(info.Env(), info[3]);
  const uint64_t mapped = ToUint64(info.Env(), info[4]);
  const auto work = [region, path, size, mode, offset, mapped] {
    return CreateRegion(path, size, mode, offset, mapped, &region->region);
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, [region](napi_env env) { return Present(env, region); }));
}

// shmOpen(key, byteOffset, byteLength | undefined)
Napi::Value ShmOpen(const Napi::CallbackInfo& info) {
  auto region = std::make_shared<SharedRegion>();
  const std::string path = PathOf(info[0].As<Napi::String>());
  const uint64_t offset = ToUint64(info.Env(), info[1]);
  const bool to_end = info[2].IsUndefined();
  const uint64_t size = to_end ? 0 : ToUint64(info.Env(), info[2]);
  return Napi::Value(info.Env(),
                     Async(
                         info.Env(), [region, path, offset, size, to_end] { return OpenRegion(path, offset, size, to_end, &region->region); },
                         [region](napi_env env) { return Present(env, region); }));
}

// shmTryLock(key): the handle of the abandoned name, or why there is none.
Napi::Value ShmTryLock(const Napi::CallbackInfo& info) {
  auto name = std::make_shared<AbandonedName>();
  NameState state = NameState::kAbsent;
  const Status status = TryLockName(PathOf(info[0].As<Napi::String>()), name.get(), &state);
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  if (state == NameState::kAbandoned) return Napi::Value(info.Env(), Wrap(info.Env(), name));
  return Napi::String::New(info.Env(), state == NameState::kLocked ? "locked" : "absent");
}

// shmRemoveLocked(handle)
Napi::Value ShmRemoveLocked(const Napi::CallbackInfo& info) {
  if (auto name = Unwrap<AbandonedName>(info.Env(), info[0])) {
    const Status status = name->Remove();
    if (!status.ok()) Throw(info.Env(), status);
  }
  return info.Env().Undefined();
}

// shmUnlock(handle)
Napi::Value ShmUnlock(const Napi::CallbackInfo& info) {
  if (auto name = Unwrap<AbandonedName>(info.Env(), info[0])) name->lock.Reset();
  return info.Env().Undefined();
}

// shmKeepName(region)
Napi::Value ShmKeepName(const Napi::CallbackInfo& info) {
  auto* region = Peek<SharedRegion>(info.Env(), info[0]);
  if (region != nullptr) region->region.Keep();
  return Napi::Value();
}

// shmUnlink(handle)
Napi::Value ShmUnlink(const Napi::CallbackInfo& info) {
  if (auto region = Unwrap<SharedRegion>(info.Env(), info[0])) region->region.Unlink();
  return info.Env().Undefined();
}

// shmRenew(handle, buffer): another buffer over the same mapping. The old one is detached last, so that a failure leaves
// everything as it was.
Napi::Value ShmRenew(const Napi::CallbackInfo& info) {
  auto region = Unwrap<SharedRegion>(info.Env(), info[0]);
  if (region == nullptr) return Napi::Value();
  std::shared_ptr<BufferOwner> owner;
  napi_value buffer = Show(info.Env(), *region, &owner);
  if (buffer == nullptr) return Napi::Value();
  DetachExternalBuffer(info.Env(), info[1], region->buffer);
  region->buffer = std::move(owner);
  return Napi::Value(info.Env(), buffer);
}

// shmClose(handle, buffer)
Napi::Value ShmClose(const Napi::CallbackInfo& info) {
  if (auto region = Unwrap<SharedRegion>(info.Env(), info[0])) {
    DetachExternalBuffer(info.Env(), info[1], region->buffer);
    region->region.CloseInBackground();
  }
  return info.Env().Undefined();
}

// shmFreeBytes()
Napi::Value ShmFreeBytes(const Napi::CallbackInfo& info) {
  uint64_t free = 0;
  const Status status = FreeBytes(&free);
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  const double infinity = std::numeric_limits<double>::infinity();
  return Napi::Number::New(info.Env(), free == kUnlimited ? infinity : static_cast<double>(free));
}

// shmUnlinkAll(): on process exit.
Napi::Value ShmUnlinkAll(const Napi::CallbackInfo& info) {
  UnmakeAllNames();
  return info.Env().Undefined();
}

}  // namespace

void ExportSharedMemory(Napi::Env env, Napi::Object exports) {
  exports.Set("shmCreate", Napi::Function::New<ShmCreate>(env, "shmCreate"));
  exports.Set("shmOpen", Napi::Function::New<ShmOpen>(env, "shmOpen"));
  exports.Set("shmTryLock", Napi::Function::New<ShmTryLock>(env, "shmTryLock"));
  exports.Set("shmRemoveLocked", Napi::Function::New<ShmRemoveLocked>(env, "shmRemoveLocked"));
  exports.Set("shmUnlock", Napi::Function::New<ShmUnlock>(env, "shmUnlock"));
  exports.Set("shmKeepName", Napi::Function::New<ShmKeepName>(env, "shmKeepName"));
  exports.Set("shmUnlink", Napi::Function::New<ShmUnlink>(env, "shmUnlink"));
  exports.Set("shmRenew", Napi::Function::New<ShmRenew>(env, "shmRenew"));
  exports.Set("shmClose", Napi::Function::New<ShmClose>(env, "shmClose"));
  exports.Set("shmFreeBytes", Napi::Function::New<ShmFreeBytes>(env, "shmFreeBytes"));
  exports.Set("shmUnlinkAll", Napi::Function::New<ShmUnlinkAll>(env, "shmUnlinkAll"));
}

}  // namespace zerohop
