#include "device.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../core/context.h"
#include "../core/driver_api.h"
#include "arguments.h"
#include "environment.h"
#include "errors.h"
#include "napi_setup.h"
#include "wrap.h"

namespace zerohop {

namespace {

struct Summary {
  int ordinal = 0;
  CUdevice device = 0;
  std::string uuid;
  std::string name;
  bool mig = false;
};

// As nvidia-smi prints it.
std::string FormatUuid(const CUuuid& uuid, bool mig) {
  std::string text = mig ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", uuid.bytes[i]);
    text += digits;
  }
  return text;
}

Status Summarise(int ordinal, Summary* summary) {
  summary->ordinal = ordinal;
  Status status = CudaStatus(driver.cuDeviceGet(&summary->device, ordinal), "cuDeviceGet", ordinal);
  CUuuid uuid = {};
  if (status.ok()) status = CudaStatus(driver.cuDeviceGetUuid(&uuid, summary->device), "cuDeviceGetUuid", ordinal);
  char name[256] = {};
  if (status.ok()) {
    status = CudaStatus(driver.cuDeviceGetName(name, sizeof name - 1, summary->device), "cuDeviceGetName", ordinal);
  }
  summary->name = name;
  // The driver names no attribute for it, but ends the name of an instance with its profile, as in "MIG 1g.10gb"; the
  // UUID is then the instance's.
  summary->mig = summary->name.find(" MIG ") != std::string::npos;
  summary->uuid = FormatUuid(uuid, summary->mig);
  return status;
}

Status SummariseAll(std::vector<Summary>* summaries) {
  int count = 0;
  Status status = CudaStatus(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  for (int ordinal = 0; status.ok() && ordinal < count; ++ordinal) {
    Summary summary;
    status = Summarise(ordinal, &summary);
    summaries->push_back(std::move(summary));
  }
  return status;
}

// The lines that did not load travel with the error.
Status Load(const std::string& library) {
  std::vector<std::string> tried;
  Status status = LoadDriver(library, &tried);
  if (!status.ok()) {
    for (const std::string& line : tried) status.detail += "\n" + line;
  }
  return status;
}

Napi::Object ToObject(napi_env env, const Summary& summary) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("ordinal", summary.ordinal);
  object.Set("uuid", summary.uuid);
  object.Set("name", summary.name);
  object.Set("mig", summary.mig);
  return object;
}

// loadDriver(library)
Napi::Value LoadDriverCall(const Napi::CallbackInfo& info) {
  Status status = Load(info[0].As<Napi::String>());
  int version = 0;
  std::vector<Summary> summaries;
  if (status.ok()) status = CudaStatus(driver.cuDriverGetVersion(&version), "cuDriverGetVersion");
  if (status.ok()) status = SummariseAll(&summaries);
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  Napi::Array devices = Napi::Array::New(info.Env(), summaries.size());
  for (uint32_t i = 0; i < summaries.size(); ++i) devices.Set(i, ToObject(info.Env(), summaries[i]));
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("driverVersion", version);
  result.Set("devices", devices);
  return result;
}

struct Opened {
  Summary summary;
  Context* context = nullptr;
  int major = 0;
  int minor = 0;
  int integrated = 0;
  int unified_addressing = 0;
  int max_shared_bytes = 0;
  int least_priority = 0;
  int greatest_priority = 0;
  size_t total_memory = 0;
  char pci_bus_id[32] = {};
};

// Finds the device by ordinal, or by UUID when that is given, and opens it.
Status Open(const std::string& library, int ordinal, const std::string& uuid, Opened* opened) {
  Status status = Load(library);
  if (!status.ok()) return status;
  std::vector<Summary> summaries;
  status = SummariseAll(&summaries);
  if (!status.ok()) return status;
  if (summaries.empty()) return Status::Unavailable("none-listed", "");
  const Summary* found = nullptr;
  std::string known;
  for (const Summary& summary : summaries) {
    if (uuid.empty() ? summary.ordinal == ordinal : summary.uuid == uuid) found = &summary;
    known += (known.empty() ? "" : ", ") + std::to_string(summary.ordinal) + " = " + summary.uuid;
  }
  if (found == nullptr) {
    return Status::Unavailable(
        "no-such-device", (uuid.empty() ? "there is no device " + std::to_string(ordinal) : "there is no device " + uuid) +
                         " (there are " + known + ")");
  }
  opened->summary = *found;
  const int number = found->ordinal;
  const CUdevice device = found->device;
  const std::pair<int*, int> attributes[] = {
      {&opened->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&opened->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&opened->integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED},
      {&opened->unified_addressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
      {&opened->max_shared_bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
  };
  for (const auto& [value, attribute] : attributes) {
    status = CudaStatus(driver.cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute", number);
    if (!status.ok()) return status;
  }
  status = CudaStatus(driver.cuDeviceTotalMem(&opened->total_memory, device), "cuDeviceTotalMem", number);
  if (!status.ok()) return status;
  status = CudaStatus(driver.cuDeviceGetPCIBusId(opened->pci_bus_id, sizeof opened->pci_bus_id - 1, device),
                      "cuDeviceGetPCIBusId", number);
  if (!status.ok()) return status;
  status = OpenContext(number, &opened->context);
  if (!status.ok()) return status;
  ContextScope scope(*opened->context);
  if (!scope.status().ok()) return scope.status();
  return CudaStatus(driver.cuCtxGetStreamPriorityRange(&opened->least_priority, &opened->greatest_priority),
                    "cuCtxGetStreamPriorityRange", number);
}

// openDevice(library, ordinal, uuid)
Napi::Value OpenDevice(const Napi::CallbackInfo& info) {
  const std::string library = info[0].As<Napi::String>();
  const int ordinal = info[1].As<Napi::Number>().Int32Value();
  const std::string uuid = info[2].As<Napi::String>();
  auto opened = std::make_shared<Opened>();
  const auto work = [library, ordinal, uuid, opened] { return Open(library, ordinal, uuid, opened.get()); };
  const auto result = [opened](napi_env env) -> napi_value {
    Napi::Object device = ToObject(env, opened->summary);
    // Contexts live as long as the process, so the handle owns nothing.
    device.Set("handle", Napi::Value(env, Wrap(env, std::shared_ptr<Context>(opened->context, [](Context*) {}))));
    device.Set("computeCapabilityMajor", opened->major);
    device.Set("computeCapabilityMinor", opened->minor);
    device.Set("totalMemory", static_cast<double>(opened->total_memory));
    device.Set("pciBusId", static_cast<const char*>(opened->pci_bus_id));
    device.Set("integrated", opened->integrated != 0);
    device.Set("unifiedAddressing", opened->unified_addressing != 0);
    device.Set("maxSharedBytesPerBlock", opened->max_shared_bytes);
    device.Set("leastPriority", opened->least_priority);
    device.Set("greatestPriority", opened->greatest_priority);
    return device;
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, result));
}

// contextLost(device): whether an error has lost its context.
Napi::Value ContextLost(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  return Napi::Boolean::New(info.Env(), context->lost.load() != CUDA_SUCCESS);
}

// canAccessPeer(device, peer)
Napi::Value CanAccessPeer(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const auto* peer = Peek<Context>(info.Env(), info[1]);
  if (peer == nullptr) return Napi::Value();
  int can = 0;
  const Status status = CudaStatus(driver.cuDeviceCanAccessPeer(&can, context->device, peer->device),
                                   "cuDeviceCanAccessPeer", context->ordinal);
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  return Napi::Boolean::New(info.Env(), can != 0);
}

// enablePeerAccess(device, peer)
Napi::Value EnablePeerAccess(const Napi::CallbackInfo& info) {
  const auto context = Unwrap<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const auto peer = Unwrap<Context>(info.Env(), info[1]);
  if (peer == nullptr) return Napi::Value();
  const auto work = [context, peer] {
    ContextScope scope(*context);
    if (!scope.status().ok()) return scope.status();
    const CUresult result = driver.cuCtxEnablePeerAccess(peer->context, 0);
    if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return Status::Ok();
    return CudaStatus(result, "cuCtxEnablePeerAccess", context->ordinal);
  };
  return Napi::Value(info.Env(), Async(info.Env(), work));
}

// memoryInfo(device)
Napi::Value MemoryInfo(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  size_t free = 0;
  size_t total = 0;
  ContextScope scope(*context);
  Status status = scope.status();
  if (status.ok()) status = CudaStatus(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo", context->ordinal);
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("free", static_cast<double>(free));
  result.Set("total", static_cast<double>(total));
  return result;
}

}  // namespace

void ExportDevice(Napi::Env env, Napi::Object exports) {
  exports.Set("loadDriver", Napi::Function::New<LoadDriverCall>(env, "loadDriver"));
  exports.Set("openDevice", Napi::Function::New<OpenDevice>(env, "openDevice"));
  exports.Set("contextLost", Napi::Function::New<ContextLost>(env, "contextLost"));
  exports.Set("canAccessPeer", Napi::Function::New<CanAccessPeer>(env, "canAccessPeer"));
  exports.Set("enablePeerAccess", Napi::Function::New<EnablePeerAccess>(env, "enablePeerAccess"));
  exports.Set("memoryInfo", Napi::Function::New<MemoryInfo>(env, "memoryInfo"));
}

}  // namespace zerohop
