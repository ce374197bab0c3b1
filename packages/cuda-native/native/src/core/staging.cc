#include "staging.h"

#include <errno.h>

#include <algorithm>
#include <cstring>

#include "context.h"
#include "driver_api.h"
#include "stream.h"
#include "waiter.h"

namespace zerohop {

namespace {

constexpr size_t kChunkBytes = size_t{4} << 20;

// The device may still be using the chunk, and there is no telling when it is done: the memory frees itself after all
// work of the context, and the next copy gets another.
void Abandon(StagingChunk& chunk) { chunk.memory.reset(); }

// Waits until the device is done with a chunk.
Status Free(const Context& context, StagingChunk& chunk) {
  if (!chunk.busy) return Status::Ok();
  chunk.busy = false;
  Status status = CudaStatus(PollEvent(chunk.event), "cuEventQuery", context.ordinal);
  if (!status.ok()) Abandon(chunk);
  return status;
}

// Both chunks, allocated on first use and not in use by the device.
Status Prepare(Stream& stream) {
  const Context& context = stream.context();
  for (int i = 0; i < 2; ++i) {
    StagingChunk& chunk = stream.staging()[i];
    if (chunk.event == nullptr) {
      Status status = CudaStatus(driver.cuEventCreate(&chunk.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate",
                                 context.ordinal);
      if (!status.ok()) {
        chunk.event = nullptr;
        return status;
      }
    }
    Status status = Free(context, chunk);
    if (!status.ok()) return status;
    if (chunk.memory == nullptr) {
      auto memory = std::make_unique<HostMemory>(&context);
      status = memory->Allocate(kChunkBytes);
      if (!status.ok()) return status;
      chunk.memory = std::move(memory);
    }
  }
  return Status::Ok();
}

// Marks a chunk as in use until what was just enqueued is over.
Status Mark(const Stream& stream, StagingChunk& chunk) {
  Status status =
      CudaStatus(driver.cuEventRecord(chunk.event, stream.get()), "cuEventRecord", stream.context().ordinal);
  chunk.busy = status.ok();
  if (!status.ok()) Abandon(chunk);
  return status;
}

// A copy of at most a chunk, from or to an ArrayBuffer. A failure reaches nobody: its environment has ended.
Status Copy(void* to, const void* from, size_t bytes, JsMemoryGate& gate) {
  JsMemoryGate::Access access(gate);
  if (!access.allowed()) return Status::System("memcpy", ECANCELED, "the environment has ended");
  memcpy(to, from, bytes);
  return Status::Ok();
}

}  // namespace

Status Upload(Stream& stream, CUdeviceptr dst, const void* src, size_t size, JsMemoryGate& gate) {
  const Context& context = stream.context();
  ContextScope scope(context);
  if (!scope.status().ok()) return scope.status();
  Status status = Prepare(stream);
  size_t index = 0;
  for (size_t done = 0; status.ok() && done < size; done += kChunkBytes, ++index) {
    StagingChunk& chunk = stream.staging()[index % 2];
    const size_t bytes = std::min(kChunkBytes, size - done);
    status = Free(context, chunk);
    if (!status.ok()) break;
    status = Copy(chunk.memory->data(), static_cast<const char*>(src) + done, bytes, gate);
    if (!status.ok()) break;
    status = CudaStatus(driver.cuMemcpyHtoDAsync(dst + done, chunk.memory->data(), bytes, stream.get()),
                        "cuMemcpyHtoDAsync", context.ordinal);
    if (status.ok()) status = Mark(stream, chunk);
  }
  for (int i = 0; status.ok() && i < 2; ++i) status = Free(context, stream.staging()[i]);
  return status;
}

Status Download(Stream& stream, void* dst, CUdeviceptr src, size_t size, JsMemoryGate& gate) {
  const Context& context = stream.context();
  ContextScope scope(context);
  if (!scope.status().ok()) return scope.status();
  Status status = Prepare(stream);
  const size_t count = (size + kChunkBytes - 1) / kChunkBytes;
  // One step behind the copies to a chunk runs the copy out of the other.
  for (size_t index = 0; status.ok() && index <= count; ++index) {
    if (index < count) {
      StagingChunk& chunk = stream.staging()[index % 2];
      const size_t start = index * kChunkBytes;
      status = CudaStatus(driver.cuMemcpyDtoHAsync(chunk.memory->data(), src + start,
                                                   std::min(kChunkBytes, size - start), stream.get()),
                          "cuMemcpyDtoHAsync", context.ordinal);
      if (status.ok()) status = Mark(stream, chunk);
    }
    if (status.ok() && index > 0) {
      StagingChunk& chunk = stream.staging()[(index - 1) % 2];
      const size_t start = (index - 1) * kChunkBytes;
      status = Free(context, chunk);
      if (status.ok()) {
        status = Copy(static_cast<char*>(dst) + start, chunk.memory->data(), std::min(kChunkBytes, size - start), gate);
      }
    }
  }
  return status;
}

}  // namespace zerohop
