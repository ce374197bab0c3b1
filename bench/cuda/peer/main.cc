// A plain C++ program over the CUDA driver: what the machine can do without Node. It keeps one context and answers
// requests, one a line on stdin, with one line on stdout: an array of samples in nanoseconds. bench/src/cuda/ours.ts
// answers the same requests through @zerohop/cuda-native.
//
//   open IMAGE                       opens device 0 and loads the kernels in the file IMAGE
//   alloc-export BYTES COUNT         allocate, zero, wait, export; rounded up to 2 MiB as ours is
//   upload BYTES COUNT BATCH         BATCH copies from pinned memory, then a wait; a sample is one copy's share
//   launch COUNT PAUSE_US HOW        launch of a tiny kernel and its completion: HOW is sync (cuStreamSynchronize) or
//                                    query (an event, asked until it is reached); PAUSE_US between two
//   enqueue KIND BATCHES COUNT       KIND is copy, fill, launch, record or wait, or copy-scoped: the context fetched,
//                                    set and restored around each copy; a sample is one call's share of a batch
//   call KIND COUNT                  KIND is memory-info, stream, event or capture: what ours calls on the JS thread
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "driver.h"

using namespace zerohop;

namespace {

using Samples = std::vector<long long>;

constexpr size_t kSmall = 4096;
constexpr size_t kGranularity = size_t{2} << 20;

CUcontext context;
CUstream stream;
CUevent event;
CUfunction fill;
CUfunction mixed;
CUdeviceptr small;
void* pinned;

long long Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

std::vector<char> ReadFile(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == nullptr) {
    fprintf(stderr, "cuda-peer: %s could not be read\n", path);
    exit(1);
  }
  std::vector<char> bytes;
  char part[65536];
  for (size_t got = 0; (got = fread(part, 1, sizeof part, file)) > 0;) bytes.insert(bytes.end(), part, part + got);
  fclose(file);
  bytes.push_back('\0');
  return bytes;
}

Samples Open(const char* image) {
  LoadDriver();
  CALL(cuInit, 0);
  CUdevice device = 0;
  CALL(cuDeviceGet, &device, 0);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuCtxSetCurrent, context);
  CALL(cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, 0);
  CALL(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  const std::vector<char> bytes = ReadFile(image);
  CUmodule module = nullptr;
  CALL(cuModuleLoadDataEx, &module, bytes.data(), 0, nullptr, nullptr);
  CALL(cuModuleGetFunction, &fill, module, "fill_u32");
  CALL(cuModuleGetFunction, &mixed, module, "mixed");
  CALL(cuMemAlloc, &small, kSmall);
  CALL(cuMemHostAlloc, &pinned, kSmall, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  memset(pinned, 1, kSmall);
  return {};
}

Samples AllocExport(size_t bytes, int count) {
  const size_t reserved = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  Samples samples;
  for (int i = 0; i < count; ++i) {
    CUdeviceptr address = 0;
    CUipcMemHandle handle;
    const long long began = Now();
    CALL(cuMemAlloc, &address, reserved);
    CALL(cuMemsetD8Async, address, 0, reserved, stream);
    CALL(cuStreamSynchronize, stream);
    CALL(cuIpcGetMemHandle, &handle, address);
    samples.push_back(Now() - began);
    CALL(cuMemFree, address);
  }
  return samples;
}

Samples Upload(size_t bytes, int count, int batch) {
  CUdeviceptr to = 0;
  void* from = nullptr;
  CALL(cuMemAlloc, &to, bytes);
  CALL(cuMemHostAlloc, &from, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  memset(from, 1, bytes);
  Samples samples;
  // The first touches the memory for the device.
  for (int i = -1; i < count; ++i) {
    const long long began = Now();
    for (int j = 0; j < batch; ++j) CALL(cuMemcpyHtoDAsync, to, from, bytes, stream);
    CALL(cuStreamSynchronize, stream);
    if (i >= 0) samples.push_back((Now() - began) / batch);
  }
  CALL(cuMemFreeHost, from);
  CALL(cuMemFree, to);
  return samples;
}

void LaunchFill() {
  unsigned value = 7;
  unsigned count = 32;
  void* parameters[] = {&small, &value, &count};
  CALL(cuLaunchKernel, fill, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
}

void LaunchMixed() {
  unsigned char a = 1;
  unsigned short b = 2;
  unsigned c = 3;
  unsigned long long d = 4;
  float e = 5;
  double f = 6;
  void* parameters[] = {&a, &b, &c, &d, &e, &f, &small};
  CALL(cuLaunchKernel, mixed, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
}

Samples Launch(int count, int pause_us, const std::string& how) {
  Samples samples;
  for (int i = 0; i < count; ++i) {
    if (pause_us > 0) usleep(static_cast<useconds_t>(pause_us));
    const long long began = Now();
    LaunchFill();
    if (how == "sync") {
      CALL(cuStreamSynchronize, stream);
    } else {
      CALL(cuEventRecord, event, stream);
      CUresult result = CUDA_ERROR_NOT_READY;
      while ((result = driver.cuEventQuery(event)) == CUDA_ERROR_NOT_READY) continue;
      Check(result, "cuEventQuery", __LINE__);
    }
    samples.push_back(Now() - began);
  }
  return samples;
}

template <typename Call>
Samples Batches(int batches, int count, Call call) {
  Samples samples;
  for (int i = 0; i < batches; ++i) {
    const long long began = Now();
    for (int j = 0; j < count; ++j) call();
    samples.push_back((Now() - began) / count);
    CALL(cuStreamSynchronize, stream);
  }
  return samples;
}

Samples Enqueue(const std::string& kind, int batches, int count) {
  if (kind == "copy") {
    return Batches(batches, count, [] { CALL(cuMemcpyHtoDAsync, small, pinned, kSmall, stream); });
  }
  if (kind == "copy-scoped") {
    CALL(cuCtxSetCurrent, nullptr);
    Samples samples;
    for (int i = 0; i < batches; ++i) {
      const long long began = Now();
      for (int j = 0; j < count; ++j) {
        CUcontext previous = nullptr;
        CALL(cuCtxGetCurrent, &previous);
        CALL(cuCtxSetCurrent, context);
        CALL(cuMemcpyHtoDAsync, small, pinned, kSmall, stream);
        CALL(cuCtxSetCurrent, previous);
      }
      samples.push_back((Now() - began) / count);
      CALL(cuCtxSetCurrent, context);
      CALL(cuStreamSynchronize, stream);
      CALL(cuCtxSetCurrent, nullptr);
    }
    CALL(cuCtxSetCurrent, context);
    return samples;
  }
  if (kind == "fill") return Batches(batches, count, [] { CALL(cuMemsetD8Async, small, 1, kSmall, stream); });
  if (kind == "launch") return Batches(batches, count, LaunchMixed);
  if (kind == "record") return Batches(batches, count, [] { CALL(cuEventRecord, event, stream); });
  if (kind == "wait") return Batches(batches, count, [] { CALL(cuStreamWaitEvent, stream, event, 0); });
  fprintf(stderr, "cuda-peer: no such enqueue: %s\n", kind.c_str());
  exit(2);
}

Samples Call(const std::string& kind, int count) {
  Samples samples;
  for (int i = 0; i < count; ++i) {
    const long long began = Now();
    if (kind == "memory-info") {
      size_t free = 0;
      size_t total = 0;
      CALL(cuMemGetInfo, &free, &total);
      samples.push_back(Now() - began);
    } else if (kind == "stream") {
      CUstream made = nullptr;
      CALL(cuStreamCreateWithPriority, &made, CU_STREAM_NON_BLOCKING, 0);
      samples.push_back(Now() - began);
      CALL(cuStreamDestroy, made);
    } else if (kind == "event") {
      CUevent made = nullptr;
      CALL(cuEventCreate, &made, CU_EVENT_DISABLE_TIMING);
      samples.push_back(Now() - began);
      CALL(cuEventDestroy, made);
    } else if (kind == "capture") {
      CUgraph graph = nullptr;
      CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
      CALL(cuStreamEndCapture, stream, &graph);
      samples.push_back(Now() - began);
      if (graph != nullptr) CALL(cuGraphDestroy, graph);
    } else {
      fprintf(stderr, "cuda-peer: no such call: %s\n", kind.c_str());
      exit(2);
    }
  }
  return samples;
}

Samples Answer(const std::vector<std::string>& words) {
  const auto number = [&](size_t i) { return i < words.size() ? atoll(words[i].c_str()) : 0; };
  const auto word = [&](size_t i) { return i < words.size() ? words[i] : std::string(); };
  const std::string what = word(0);
  if (what == "open") return Open(word(1).c_str());
  if (what == "alloc-export") return AllocExport(static_cast<size_t>(number(1)), static_cast<int>(number(2)));
  if (what == "upload") {
    return Upload(static_cast<size_t>(number(1)), static_cast<int>(number(2)), static_cast<int>(number(3)));
  }
  if (what == "launch") return Launch(static_cast<int>(number(1)), static_cast<int>(number(2)), word(3));
  if (what == "enqueue") return Enqueue(word(1), static_cast<int>(number(2)), static_cast<int>(number(3)));
  if (what == "call") return Call(word(1), static_cast<int>(number(2)));
  fprintf(stderr, "cuda-peer: no such request: %s\n", what.c_str());
  exit(2);
}

}  // namespace

int main() {
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) >= 0) {
    std::vector<std::string> words;
    for (char* word = strtok(line, " \n"); word != nullptr; word = strtok(nullptr, " \n")) words.emplace_back(word);
    const Samples samples = Answer(words);
    printf("[");
    for (size_t i = 0; i < samples.size(); ++i) printf(i == 0 ? "%lld" : ",%lld", samples[i]);
    printf("]\n");
    fflush(stdout);
  }
  free(line);
}
