// The module: per-environment state, then one family of functions per file.
#include "../core/context.h"
#include "device.h"
#include "environment.h"
#include "event.h"
#include "graph.h"
#include "memory.h"
#include "module.h"
#include "napi_setup.h"
#include "nvjpeg.h"
#include "shared_memory.h"
#include "stream.h"
#include "type_tags.h"

namespace zerohop {
namespace {

// setErrorFactory(fields => Error)
Napi::Value SetErrorFactory(const Napi::CallbackInfo& info) {
  Environment::Get(info.Env())->SetErrorFactory(info.Env(), info[0]);
  return info.Env().Undefined();
}

// setWarner(error => void): gets the errors that no promise carries and no call throws.
Napi::Value SetWarner(const Napi::CallbackInfo& info) {
  Environment::Get(info.Env())->SetWarner(info.Env(), info[0]);
  return info.Env().Undefined();
}

// markExiting(): on process exit.
Napi::Value MarkExitingCall(const Napi::CallbackInfo& info) {
  MarkExiting();
  return info.Env().Undefined();
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  if (!Environment::Install(env)) {
    Napi::Error::New(env, "The addon could not set up its state").ThrowAsJavaScriptException();
    return exports;
  }
  exports.Set("abi", kAbi);
  exports.Set("setErrorFactory", Napi::Function::New<SetErrorFactory>(env, "setErrorFactory"));
  exports.Set("setWarner", Napi::Function::New<SetWarner>(env, "setWarner"));
  exports.Set("markExiting", Napi::Function::New<MarkExitingCall>(env, "markExiting"));
  ExportSharedMemory(env, exports);
  ExportDevice(env, exports);
  ExportMemory(env, exports);
  ExportStream(env, exports);
  ExportEnqueue(env, exports);
  ExportEvent(env, exports);
  ExportModule(env, exports);
  ExportGraph(env, exports);
  ExportNvjpeg(env, exports);
  return exports;
}

}  // namespace
}  // namespace zerohop

static Napi::Object InitModule(Napi::Env env, Napi::Object exports) { return zerohop::Init(env, exports); }

NODE_API_MODULE(cuda_native, InitModule)
