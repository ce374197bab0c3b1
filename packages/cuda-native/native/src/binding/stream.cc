#include "stream.h"

#include <utility>

#include "../core/driver_api.h"
#include "../core/event.h"
#include "../core/staging.h"
#include "../core/stream.h"
#include "../core/waiter.h"
#include "arguments.h"
#include "environment.h"
#include "errors.h"
#include "memory.h"
#include "napi_setup.h"
#include "wrap.h"

namespace zerohop {

namespace {

// streamCreate(device, priority)
Napi::Value StreamCreate(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  auto stream = std::make_shared<Stream>(context);
  const Status status = stream->Create(ToInt(info.Env(), info[1]));
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  return Napi::Value(info.Env(), Wrap(info.Env(), stream));
}

// streamDestroy(stream)
Napi::Value StreamDestroy(const Napi::CallbackInfo& info) {
  auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [stream] { return stream->Destroy(); }));
}

// streamSynchronize(stream): waits on one of the addon's threads, for when asking failed.
Napi::Value StreamSynchronize(const Napi::CallbackInfo& info) {
  auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [stream] { return stream->Synchronize(); }));
}

// streamUpload(stream, dst, dstOffset, src)
Napi::Value StreamUpload(const Napi::CallbackInfo& info) {
  auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  auto dst = Unwrap<DeviceMemory>(info.Env(), info[1]);
  if (dst == nullptr) return Napi::Value();
  const size_t offset = ToSize(info.Env(), info[2]);
  const auto bytes = info[3].As<Napi::Uint8Array>();
  auto channel = Environment::Get(info.Env())->channel();
  const auto work = [stream, dst, offset, channel, data = bytes.Data(), size = bytes.ByteLength()] {
    return Upload(*stream, dst->address() + offset, data, size, channel->js_memory());
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, nullptr, {bytes}));
}

// streamDownload(stream, dst, src, srcOffset)
Napi::Value StreamDownload(const Napi::CallbackInfo& info) {
  auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  auto bytes = info[1].As<Napi::Uint8Array>();
  auto src = Unwrap<DeviceMemory>(info.Env(), info[2]);
  if (src == nullptr) return Napi::Value();
  const size_t offset = ToSize(info.Env(), info[3]);
  auto channel = Environment::Get(info.Env())->channel();
  const auto work = [stream, src, offset, channel, data = bytes.Data(), size = bytes.ByteLength()] {
    return Download(*stream, data, src->address() + offset, size, channel->js_memory());
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, nullptr, {bytes}));
}

// streamWait(stream)
Napi::Value StreamWait(const Napi::CallbackInfo& info) {
  auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  const Context& context = stream->context();
  CUevent event = nullptr;
  Status status;
  {
    ContextScope scope(context);
    status = scope.status();
    if (status.ok()) {
      const CUresult result = driver.cuStreamQuery(stream->get());
      if (result == CUDA_SUCCESS) return Napi::Value(info.Env(), Settled(info.Env(), Status::Ok()));
      status = result == CUDA_ERROR_NOT_READY ? stream->RecordEvent(&event)
                                              : CudaStatus(result, "cuStreamQuery", context.ordinal);
    }
  }
  if (!status.ok()) return Napi::Value(info.Env(), Settled(info.Env(), status));
  return Napi::Value(info.Env(), AwaitOnLoop(info.Env(), context, event, [stream, event] { stream->ReleaseEvent(event); }));
}

// streamQuery(stream)
Napi::Value StreamQuery(const Napi::CallbackInfo& info) {
  const auto* stream = Peek<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  ContextScope scope(stream->context());
  Status status = scope.status();
  CUresult result = CUDA_SUCCESS;
  if (status.ok()) {
    result = driver.cuStreamQuery(stream->get());
    if (result != CUDA_ERROR_NOT_READY) status = CudaStatus(result, "cuStreamQuery", stream->context().ordinal);
  }
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  return Napi::Boolean::New(info.Env(), result == CUDA_SUCCESS);
}

}  // namespace

void ExportStream(Napi::Env env, Napi::Object exports) {
  exports.Set("streamCreate", Napi::Function::New<StreamCreate>(env, "streamCreate"));
  exports.Set("streamDestroy", Napi::Function::New<StreamDestroy>(env, "streamDestroy"));
  exports.Set("streamSynchronize", Napi::Function::New<StreamSynchronize>(env, "streamSynchronize"));
  exports.Set("streamUpload", Napi::Function::New<StreamUpload>(env, "streamUpload"));
  exports.Set("streamDownload", Napi::Function::New<StreamDownload>(env, "streamDownload"));
  exports.Set("streamWait", Napi::Function::New<StreamWait>(env, "streamWait"));
  exports.Set("streamQuery", Napi::Function::New<StreamQuery>(env, "streamQuery"));
}

}  // namespace zerohop
