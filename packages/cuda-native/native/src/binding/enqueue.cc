// The calls that add work to a stream. They run on the JS thread, once for each piece of work: no sharing, no strings.
#include "../core/driver_api.h"
#include "../core/event.h"
#include "../core/graph.h"
#include "../core/module.h"
#include "../core/stream.h"
#include "arguments.h"
#include "environment.h"
#include "errors.h"
#include "memory.h"
#include "napi_setup.h"
#include "stream.h"
#include "wrap.h"

namespace zerohop {

namespace {

// Runs `enqueue` with the stream's context current and throws what it gives.
template <typename Enqueue>
Napi::Value Enqueued(napi_env env, const Stream& stream, Enqueue enqueue) {
  const Context& context = stream.context();
  ContextScope scope(context);
  if (!scope.status().ok()) {
    Throw(env, scope.status());
    return Napi::Value();
  }
  const Status status = enqueue(stream.get(), context.ordinal);
  if (!status.ok()) Throw(env, status);
  return Napi::Value();
}

// streamCopyToDevice(stream, dst, dstOffset, src, srcOffset, byteLength)
Napi::Value StreamCopyToDevice(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  const auto* dst = Peek<DeviceMemory>(env, info[1]);
  const auto* src = Peek<PinnedBuffer>(env, info[3]);
  if (stream == nullptr || dst == nullptr || src == nullptr) return Napi::Value();
  const CUdeviceptr to = dst->address() + ToSize(env, info[2]);
  const char* from = src->memory->data() + ToSize(env, info[4]);
  const size_t bytes = ToSize(env, info[5]);
  return Enqueued(env, *stream, [&](CUstream queue, int device) {
    return CudaStatus(driver.cuMemcpyHtoDAsync(to, from, bytes, queue), "cuMemcpyHtoDAsync", device);
  });
}

// streamCopyToHost(stream, dst, dstOffset, src, srcOffset, byteLength)
Napi::Value StreamCopyToHost(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  const auto* dst = Peek<PinnedBuffer>(env, info[1]);
  const auto* src = Peek<DeviceMemory>(env, info[3]);
  if (stream == nullptr || dst == nullptr || src == nullptr) return Napi::Value();
  char* to = dst->memory->data() + ToSize(env, info[2]);
  const CUdeviceptr from = src->address() + ToSize(env, info[4]);
  const size_t bytes = ToSize(env, info[5]);
  return Enqueued(env, *stream, [&](CUstream queue, int device) {
    return CudaStatus(driver.cuMemcpyDtoHAsync(to, from, bytes, queue), "cuMemcpyDtoHAsync", device);
  });
}

// streamCopy(stream, dst, dstOffset, src, srcOffset, byteLength): also between two devices.
Napi::Value StreamCopy(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  const auto* dst = Peek<DeviceMemory>(env, info[1]);
  const auto* src = Peek<DeviceMemory>(env, info[3]);
  if (stream == nullptr || dst == nullptr || src == nullptr) return Napi::Value();
  const CUdeviceptr to = dst->address() + ToSize(env, info[2]);
  const CUdeviceptr from = src->address() + ToSize(env, info[4]);
  const size_t bytes = ToSize(env, info[5]);
  return Enqueued(env, *stream, [&](CUstream queue, int device) {
    const CUcontext to_context = dst->context().context;
    const CUcontext from_context = src->context().context;
    if (to_context == from_context) {
      return CudaStatus(driver.cuMemcpyDtoDAsync(to, from, bytes, queue), "cuMemcpyDtoDAsync", device);
    }
    return CudaStatus(driver.cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, queue), "cuMemcpyPeerAsync",
                      device);
  });
}

// One side of a 2D copy: the address of its first byte, in device or in page-locked memory.
struct Side {
  CUdeviceptr device = 0;
  char* host = nullptr;
};

bool ReadSide(napi_env env, napi_value handle, bool pinned, size_t offset, Side* side) {
  if (pinned) {
    const auto* memory = Peek<PinnedBuffer>(env, handle);
    if (memory == nullptr) return false;
    side->host = memory->memory->data() + offset;
  } else {
    const auto* memory = Peek<DeviceMemory>(env, handle);
    if (memory == nullptr) return false;
    side->device = memory->address() + offset;
  }
  return true;
}

// streamCopy2d(stream, dst, dstPinned, dstOffset, dstPitch, src, srcPinned, srcOffset, srcPitch, width, height)
Napi::Value StreamCopy2d(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  Side dst;
  Side src;
  if (stream == nullptr || !ReadSide(env, info[1], info[2].ToBoolean(), ToSize(env, info[3]), &dst) ||
      !ReadSide(env, info[5], info[6].ToBoolean(), ToSize(env, info[7]), &src)) {
    return Napi::Value();
  }
  CUDA_MEMCPY2D copy = {};
  copy.dstMemoryType = dst.host != nullptr ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = dst.host;
  copy.dstDevice = dst.device;
  copy.dstPitch = ToSize(env, info[4]);
  copy.srcMemoryType = src.host != nullptr ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = src.host;
  copy.srcDevice = src.device;
  copy.srcPitch = ToSize(env, info[8]);
  copy.WidthInBytes = ToSize(env, info[9]);
  copy.Height = ToSize(env, info[10]);
  return Enqueued(env, *stream, [&](CUstream queue, int device) {
    return CudaStatus(driver.cuMemcpy2DAsync(&copy, queue), "cuMemcpy2DAsync", device);
  });
}

// streamFill(stream, dst, dstOffset, byteLength, byte)
Napi::Value StreamFill(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  const auto* dst = Peek<DeviceMemory>(env, info[1]);
  if (stream == nullptr || dst == nullptr) return Napi::Value();
  const CUdeviceptr to = dst->address() + ToSize(env, info[2]);
  const size_t bytes = ToSize(env, info[3]);
  const auto byte = static_cast<unsigned char>(ToInt(env, info[4]));
  return Enqueued(env, *stream, [&](CUstream queue, int device) {
    return CudaStatus(driver.cuMemsetD8Async(to, byte, bytes, queue), "cuMemsetD8Async", device);
  });
}

// streamRecord(stream, event)
Napi::Value StreamRecord(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  const auto* event = Peek<Event>(env, info[1]);
  if (stream == nullptr || event == nullptr) return Napi::Value();
  return Enqueued(env, *stream, [&](CUstream queue, int device) {
    return CudaStatus(driver.cuEventRecord(event->get(), queue), "cuEventRecord", device);
  });
}

// streamWaitEvent(stream, event)
Napi::Value StreamWaitEvent(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  const auto* event = Peek<Event>(env, info[1]);
  if (stream == nullptr || event == nullptr) return Napi::Value();
  return Enqueued(env, *stream, [&](CUstream queue, int device) {
    return CudaStatus(driver.cuStreamWaitEvent(queue, event->get(), 0), "cuStreamWaitEvent", device);
  });
}

// launchArea(): the ArrayBuffer that streamLaunch reads: ten uint32 (grid, block, cluster, shared bytes), and from byte
// 64 on the arguments.
Napi::Value LaunchArea(const Napi::CallbackInfo& info) {
  napi_value buffer = nullptr;
  Environment::Get(info.Env())->LaunchArea(info.Env(), &buffer);
  return Napi::Value(info.Env(), buffer);
}

// streamLaunch(stream, kernel, byteLength of the arguments)
Napi::Value StreamLaunch(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  const auto* kernel = Peek<Kernel>(env, info[1]);
  if (stream == nullptr || kernel == nullptr) return Napi::Value();
  auto* area = static_cast<char*>(Environment::Get(env)->LaunchArea(env, nullptr));
  const size_t bytes = ToSize(env, info[2]);
  return Enqueued(env, *stream, [&](CUstream queue, int) {
    return Launch(*kernel, queue, *reinterpret_cast<const LaunchSize*>(area), area + 64, bytes);
  });
}

// streamLaunchGraph(stream, graph)
Napi::Value StreamLaunchGraph(const Napi::CallbackInfo& info) {
  napi_env env = info.Env();
  const auto* stream = Peek<Stream>(env, info[0]);
  const auto* graph = Peek<Graph>(env, info[1]);
  if (stream == nullptr || graph == nullptr) return Napi::Value();
  return Enqueued(env, *stream, [&](CUstream queue, int) { return graph->Launch(queue); });
}

}  // namespace

void ExportEnqueue(Napi::Env env, Napi::Object exports) {
  exports.Set("streamCopyToDevice", Napi::Function::New<StreamCopyToDevice>(env, "streamCopyToDevice"));
  exports.Set("streamCopyToHost", Napi::Function::New<StreamCopyToHost>(env, "streamCopyToHost"));
  exports.Set("streamCopy", Napi::Function::New<StreamCopy>(env, "streamCopy"));
  exports.Set("streamCopy2d", Napi::Function::New<StreamCopy2d>(env, "streamCopy2d"));
  exports.Set("streamFill", Napi::Function::New<StreamFill>(env, "streamFill"));
  exports.Set("streamRecord", Napi::Function::New<StreamRecord>(env, "streamRecord"));
  exports.Set("streamWaitEvent", Napi::Function::New<StreamWaitEvent>(env, "streamWaitEvent"));
  exports.Set("launchArea", Napi::Function::New<LaunchArea>(env, "launchArea"));
  exports.Set("streamLaunch", Napi::Function::New<StreamLaunch>(env, "streamLaunch"));
  exports.Set("streamLaunchGraph", Napi::Function::New<StreamLaunchGraph>(env, "streamLaunchGraph"));
}

}  // namespace zerohop
