#include "stream.h"

#include <utility>

#include "driver_api.h"
#include "environment.h"
#include "executor.h"
#include "napi_setup.h"
#include "staging.h"
#include "waiter.h"

namespace zerohop {

namespace {

Status DestroyEvent(CUevent event, int device) {
  return FreeStatus(driver.cuEventDestroy(event), "cuEventDestroy", device);
}

// What a stream holds in the driver; the stream itself is null when it has been destroyed.
struct Holdings {
  CUstream stream;
  std::vector<CUevent> events;
};

Status Release(const Context& context, const Holdings& holdings) {
  ContextScope scope(context);
  if (!scope.status().ok()) return scope.status();
  Status first;
  for (CUevent event : holdings.events) {
    Status status = DestroyEvent(event, context.ordinal);
    if (first.ok()) first = status;
  }
  if (holdings.stream == nullptr) return first;
  Status status = FreeStatus(driver.cuStreamDestroy(holdings.stream), "cuStreamDestroy", context.ordinal);
  return first.ok() ? status : first;
}

}  // namespace

Stream::~Stream() {
  if (Exiting()) return;
  // Also after Destroy(): a wait that ended later has brought its event back.
  Holdings holdings{stream_, std::move(idle_events_)};
  for (StagingChunk& chunk : staging_) {
    if (chunk.event != nullptr) holdings.events.push_back(chunk.event);
  }
  if (holdings.stream == nullptr && holdings.events.empty()) return;
  // The staging buffers free themselves, after all work of the context.
  Execute([context = context_, holdings = std::move(holdings)] {
    if (!Exiting()) Release(*context, holdings);
  });
}

Status Stream::Create() {
  ContextScope scope(*context_);
  if (!scope.status().ok()) return scope.status();
  return CudaStatus(driver.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate", context_->ordinal);
}

Status Stream::Destroy() {
  Holdings holdings{std::exchange(stream_, nullptr), {}};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    holdings.events = std::move(idle_events_);
  }
  Status first;
  for (StagingChunk& chunk : staging_) {
    if (chunk.event != nullptr) holdings.events.push_back(std::exchange(chunk.event, nullptr));
    if (chunk.memory == nullptr) continue;
    Status status = chunk.memory->Free();
    if (first.ok()) first = status;
    chunk.memory.reset();
  }
  Status status = Release(*context_, holdings);
  return first.ok() ? status : first;
}

Status Stream::RecordEvent(CUevent* event) {
  *event = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_events_.empty()) {
      *event = idle_events_.back();
      idle_events_.pop_back();
    }
  }
  const int device = context_->ordinal;
  if (*event == nullptr) {
    Status status = CudaStatus(driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate", device);
    if (!status.ok()) return status;
  }
  Status status = CudaStatus(driver.cuEventRecord(*event, stream_), "cuEventRecord", device);
  if (!status.ok()) ReleaseEvent(std::exchange(*event, nullptr));
  return status;
}

void Stream::ReleaseEvent(CUevent event) {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_events_.push_back(event);
}

namespace {

size_t ToSize(const Napi::Value& value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

// Runs `enqueue` with the stream's context current and throws what it gives.
template <typename Enqueue>
Napi::Value Enqueued(const Napi::CallbackInfo& info, const Stream& stream, const char* call, Enqueue enqueue) {
  const Context& context = stream.context();
  ContextScope scope(context);
  Status status = scope.status();
  if (status.ok()) status = CudaStatus(enqueue(stream.get()), call, context.ordinal);
  if (!status.ok()) Throw(info.Env(), status);
  return info.Env().Undefined();
}

// streamCreate(device)
Napi::Value StreamCreate(const Napi::CallbackInfo& info) {
  const auto context = Unwrap<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  auto stream = std::make_shared<Stream>(context.get());
  const Status status = stream->Create();
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

// streamCopyToDevice(stream, dst, dstOffset, src, srcOffset, byteLength)
Napi::Value StreamCopyToDevice(const Napi::CallbackInfo& info) {
  const auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  const auto dst = Unwrap<DeviceMemory>(info.Env(), info[1]);
  if (dst == nullptr) return Napi::Value();
  const auto src = Unwrap<PinnedBuffer>(info.Env(), info[3]);
  if (src == nullptr) return Napi::Value();
  return Enqueued(info, *stream, "cuMemcpyHtoDAsync", [&](CUstream queue) {
    return driver.cuMemcpyHtoDAsync(dst->address() + ToSize(info[2]), src->memory->data() + ToSize(info[4]),
                                    ToSize(info[5]), queue);
  });
}

// streamCopyToHost(stream, dst, dstOffset, src, srcOffset, byteLength)
Napi::Value StreamCopyToHost(const Napi::CallbackInfo& info) {
  const auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  const auto dst = Unwrap<PinnedBuffer>(info.Env(), info[1]);
  if (dst == nullptr) return Napi::Value();
  const auto src = Unwrap<DeviceMemory>(info.Env(), info[3]);
  if (src == nullptr) return Napi::Value();
  return Enqueued(info, *stream, "cuMemcpyDtoHAsync", [&](CUstream queue) {
    return driver.cuMemcpyDtoHAsync(dst->memory->data() + ToSize(info[2]), src->address() + ToSize(info[4]),
                                    ToSize(info[5]), queue);
  });
}

// streamCopy(stream, dst, dstOffset, src, srcOffset, byteLength)
Napi::Value StreamCopy(const Napi::CallbackInfo& info) {
  const auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  const auto dst = Unwrap<DeviceMemory>(info.Env(), info[1]);
  if (dst == nullptr) return Napi::Value();
  const auto src = Unwrap<DeviceMemory>(info.Env(), info[3]);
  if (src == nullptr) return Napi::Value();
  return Enqueued(info, *stream, "cuMemcpyDtoDAsync", [&](CUstream queue) {
    return driver.cuMemcpyDtoDAsync(dst->address() + ToSize(info[2]), src->address() + ToSize(info[4]),
                                    ToSize(info[5]), queue);
  });
}

// streamFill(stream, dst, dstOffset, byteLength, byte)
Napi::Value StreamFill(const Napi::CallbackInfo& info) {
  const auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  const auto dst = Unwrap<DeviceMemory>(info.Env(), info[1]);
  if (dst == nullptr) return Napi::Value();
  return Enqueued(info, *stream, "cuMemsetD8Async", [&](CUstream queue) {
    return driver.cuMemsetD8Async(dst->address() + ToSize(info[2]),
                                  static_cast<unsigned char>(info[4].As<Napi::Number>().Uint32Value()),
                                  ToSize(info[3]), queue);
  });
}

// streamUpload(stream, dst, dstOffset, src)
Napi::Value StreamUpload(const Napi::CallbackInfo& info) {
  auto stream = Unwrap<Stream>(info.Env(), info[0]);
  if (stream == nullptr) return Napi::Value();
  auto dst = Unwrap<DeviceMemory>(info.Env(), info[1]);
  if (dst == nullptr) return Napi::Value();
  const size_t offset = ToSize(info[2]);
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
  const size_t offset = ToSize(info[3]);
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
  const int device = stream->context().ordinal;
  ContextScope scope(stream->context());
  Status status = scope.status();
  CUevent event = nullptr;
  if (status.ok()) {
    const CUresult result = driver.cuStreamQuery(stream->get());
    if (result == CUDA_SUCCESS) return Napi::Value(info.Env(), Settled(info.Env(), Status::Ok()));
    if (result == CUDA_ERROR_NOT_READY) {
      status = stream->RecordEvent(&event);
    } else {
      status = CudaStatus(result, "cuStreamQuery", device);
    }
  }
  if (!status.ok()) return Napi::Value(info.Env(), Settled(info.Env(), status));
  Environment* environment = Environment::Get(info.Env());
  std::unique_ptr<Task> task;
  napi_value promise = environment->Begin(info.Env(), &task);
  if (promise == nullptr) return Napi::Value();
  AwaitEvent(std::move(stream), event, std::move(task), environment->channel());
  return Napi::Value(info.Env(), promise);
}

// streamQuery(stream)
Napi::Value StreamQuery(const Napi::CallbackInfo& info) {
  const auto stream = Unwrap<Stream>(info.Env(), info[0]);
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
  exports.Set("streamCopyToDevice", Napi::Function::New<StreamCopyToDevice>(env, "streamCopyToDevice"));
  exports.Set("streamCopyToHost", Napi::Function::New<StreamCopyToHost>(env, "streamCopyToHost"));
  exports.Set("streamCopy", Napi::Function::New<StreamCopy>(env, "streamCopy"));
  exports.Set("streamFill", Napi::Function::New<StreamFill>(env, "streamFill"));
  exports.Set("streamUpload", Napi::Function::New<StreamUpload>(env, "streamUpload"));
  exports.Set("streamDownload", Napi::Function::New<StreamDownload>(env, "streamDownload"));
  exports.Set("streamWait", Napi::Function::New<StreamWait>(env, "streamWait"));
  exports.Set("streamQuery", Napi::Function::New<StreamQuery>(env, "streamQuery"));
}

}  // namespace zerohop
