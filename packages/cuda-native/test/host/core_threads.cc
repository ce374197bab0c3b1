// The core without Node, driven by many threads at once over the fake driver: for ThreadSanitizer, which can't run under
// node. Every object is made, used, shared with the waiter and the executor, and given back or dropped, while other
// threads do the same. Arguments: the fake driver, a PTX file, the rounds of each thread, and "race" to race on purpose.
// Prints "ok" and exits with 0.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "context.h"
#include "event.h"
#include "executor.h"
#include "graph.h"
#include "module.h"
#include "shm_region.h"
#include "staging.h"
#include "stream.h"
#include "waiter.h"

using namespace zerohop;

namespace {

std::string library;
std::string ptx;
int rounds = 0;
// Callbacks that are still to come.
std::atomic<int> outstanding{0};

void Check(const Status& status, const char* what) {
  if (status.ok()) return;
  fprintf(stderr, "%s: %s failed with %d %s\n", what, status.call, status.code, status.detail.c_str());
  _exit(1);
}

Context* Open(int ordinal) {
  std::vector<std::string> tried;
  Check(LoadDriver(library, &tried), "LoadDriver");
  Context* context = nullptr;
  Check(OpenContext(ordinal, &context), "OpenContext");
  return context;
}

void WaitFor(const std::shared_ptr<Stream>& stream) {
  CUevent event = nullptr;
  {
    ContextScope scope(stream->context());
    Check(scope.status(), "scope");
    Check(stream->RecordEvent(&event), "RecordEvent");
  }
  ++outstanding;
  AwaitEvent(stream->context(), event, [stream, event](Status status) {
    Check(status, "AwaitEvent");
    stream->ReleaseEvent(event);
    --outstanding;
  });
}

// Runs `work` on the executor.
void Later(std::function<void()> work) {
  ++outstanding;
  Execute([work = std::move(work)] {
    work();
    --outstanding;
  });
}

void Memory(int ordinal) {
  Context* context = Open(ordinal);
  for (int round = 0; round < rounds; ++round) {
    auto memory = std::make_shared<DeviceMemory>(context, DeviceMemory::Origin::kAllocated);
    Check(memory->Allocate(1 << 16), "Allocate");
    Check(memory->Zero(1 << 16), "Zero");
    CUipcMemHandle handle;
    Check(memory->Export(&handle), "Export");
    // Half are dropped: the executor reclaims them.
    if (round % 2 == 0) Check(memory->Free(), "Free");
    auto pinned = std::make_shared<HostMemory>(context);
    Check(pinned->Allocate(4096), "pinned");
    if (round % 3 == 0) Later([pinned] { Check(pinned->Free(), "pinned free"); });
  }
}

void Copies(int ordinal) {
  Context* context = Open(ordinal);
  auto stream = std::make_shared<Stream>(context);
  Check(stream->Create(0), "stream");
  auto memory = std::make_shared<DeviceMemory>(context, DeviceMemory::Origin::kAllocated);
  constexpr size_t kBytes = (9 << 20) + 3;
  Check(memory->Allocate(kBytes), "Allocate");
  std::vector<char> from(kBytes, 'x');
  std::vector<char> to(kBytes);
  for (int round = 0; round < rounds / 4 + 1; ++round) {
    JsMemoryGate gate;
    Check(Upload(*stream, memory->address(), from.data(), kBytes, gate), "Upload");
    Check(Download(*stream, to.data(), memory->address(), kBytes, gate), "Download");
    if (to != from) {
      fprintf(stderr, "other bytes came back\n");
      _exit(1);
    }
    // The environment ends while a copy runs: it is refused or done, never half in freed memory.
    Later([stream, memory, &gate, &from] { Upload(*stream, memory->address(), from.data(), kBytes, gate); });
    gate.Close();
    while (outstanding.load() != 0) usleep(100);
    WaitFor(stream);
  }
  while (outstanding.load() != 0) usleep(100);
  Check(stream->Destroy(), "Destroy");
}

void Waits(int ordinal) {
  Context* context = Open(ordinal);
  for (int round = 0; round < rounds; ++round) {
    auto stream = std::make_shared<Stream>(context);
    Check(stream->Create(0), "stream");
    for (int i = 0; i < 4; ++i) WaitFor(stream);
    auto event = std::make_shared<Event>(context);
    Check(event->Create(round % 2 == 0), "event");
    {
      ContextScope scope(*context);
      Check(CudaStatus(driver.cuEventRecord(event->get(), stream->get()), "cuEventRecord", ordinal), "record");
    }
    ++outstanding;
    AwaitEvent(*context, event->get(), [event](Status status) {
      Check(status, "event");
      --outstanding;
    });
    bool over = false;
    Check(event->Query(&over), "query");
    // Dropped while its waits run: the last of them destroys it.
  }
}

void Kernels(int ordinal) {
  Context* context = Open(ordinal);
  auto stream = std::make_shared<Stream>(context);
  Check(stream->Create(0), "stream");
  auto memory = std::make_shared<DeviceMemory>(context, DeviceMemory::Origin::kAllocated);
  Check(memory->Allocate(4096), "Allocate");
  for (int round = 0; round < rounds; ++round) {
    auto module = std::make_shared<Module>(context);
    Check(module->Load(ptx), "Load");
    Kernel kernel;
    Check(FindKernel(module, "fill_u32", 0, &kernel), "FindKernel");
    struct {
      CUdeviceptr out;
      uint32_t value;
      uint32_t count;
    } arguments = {memory->address(), 7, 1024};
    const LaunchSize size = {{4, 1, 1}, {256, 1, 1}, {0, 0, 0}, 0};
    auto graph = std::make_shared<Graph>(context);
    {
      ContextScope scope(*context);
      Check(Launch(kernel, stream->get(), size, &arguments, sizeof arguments), "Launch");
      Check(graph->Begin(stream->get()), "Begin");
      Check(Launch(kernel, stream->get(), size, &arguments, sizeof arguments), "captured Launch");
      Check(graph->End(stream->get()), "End");
    }
    Check(graph->Instantiate(), "Instantiate");
    {
      ContextScope scope(*context);
      Check(graph->Launch(stream->get()), "graph Launch");
    }
    WaitFor(stream);
    // Both are dropped with work in flight: what reclaims them waits for it.
  }
  SynchronizeAll();
}

void Regions(int number) {
  for (int round = 0; round < rounds; ++round) {
    const std::string path =
        PathOf("/zerohop-tsan-" + std::to_string(getpid()) + "-" + std::to_string(number) + "-" + std::to_string(round));
    Region region;
    Check(CreateRegion(path, 8192, 0600, 0, 8192, &region), "CreateRegion");
    Region opened;
    Check(OpenRegion(path, 0, 0, true, &opened), "OpenRegion");
    AbandonedName name;
    NameState state = NameState::kAbsent;
    Check(TryLockName(path, &name, &state), "TryLockName");
    if (state != NameState::kLocked) _exit(1);
    region.Close();
  }
}

}  // namespace

int main(int count, char** argv) {
  library = argv[1];
  std::ifstream file(argv[2]);
  std::stringstream text;
  text << file.rdbuf();
  ptx = text.str();
  rounds = atoi(argv[3]);

  std::vector<std::thread> threads;
  for (int device = 0; device < 2; ++device) {
    threads.emplace_back(Memory, device);
    threads.emplace_back(Waits, device);
    threads.emplace_back(Kernels, device);
    threads.emplace_back(Regions, device);
  }
  for (std::thread& thread : threads) thread.join();
  while (outstanding.load() != 0) usleep(100);
  // Closes a gate that only its own copies may hold, so it runs by itself.
  Copies(0);
  // Losing one context while others work on it, and on the other device.
  std::thread loses([] { MarkLost(0, 700, "a test"); });
  std::thread works([] { Waits(1); });
  ContextScope lost(*Open(0));
  loses.join();
  works.join();
  while (outstanding.load() != 0) usleep(100);
  if (count > 4 && strcmp(argv[4], "race") == 0) {
    int shared = 0;
    std::thread other([&shared] { ++shared; });
    ++shared;
    other.join();
  }
  MarkExiting();
  UnmakeAllNames();
  puts("ok");
  return 0;
}
