#include "module.h"

#include <string>

#include "../core/module.h"
#include "arguments.h"
#include "environment.h"
#include "napi_setup.h"
#include "wrap.h"

namespace zerohop {

namespace {

// moduleLoad(device, image): the bytes are copied.
Napi::Value ModuleLoad(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const auto bytes = info[1].As<Napi::Uint8Array>();
  // A std::string ends with NUL, as PTX must.
  std::string image(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  auto module = std::make_shared<Module>(context);
  const auto work = [module, image = std::move(image)] { return module->Load(image); };
  return Napi::Value(info.Env(), Async(info.Env(), work, [module](napi_env env) { return Wrap(env, module); }));
}

// moduleUnload(module)
Napi::Value ModuleUnload(const Napi::CallbackInfo& info) {
  auto module = Unwrap<Module>(info.Env(), info[0]);
  if (module == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [module] { return module->Unload(); }));
}

Napi::Object Present(napi_env env, const std::shared_ptr<Kernel>& kernel) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("handle", Napi::Value(env, Wrap(env, kernel)));
  object.Set("maxThreadsPerBlock", kernel->max_threads);
  object.Set("registers", kernel->registers);
  object.Set("staticSharedBytes", kernel->static_shared_bytes);
  if (!kernel->has_parameters) return object;
  Napi::Array parameters = Napi::Array::New(env, kernel->parameters.size());
  for (uint32_t i = 0; i < kernel->parameters.size(); ++i) {
    Napi::Object parameter = Napi::Object::New(env);
    parameter.Set("byteOffset", static_cast<double>(kernel->parameters[i].offset));
    parameter.Set("byteLength", static_cast<double>(kernel->parameters[i].size));
    parameters.Set(i, parameter);
  }
  object.Set("parameters", parameters);
  return object;
}

// moduleKernel(module, name, dynamicSharedBytes)
Napi::Value ModuleKernel(const Napi::CallbackInfo& info) {
  auto module = Unwrap<Module>(info.Env(), info[0]);
  if (module == nullptr) return Napi::Value();
  const std::string name = info[1].As<Napi::String>();
  const int shared_bytes = ToInt(info.Env(), info[2]);
  auto kernel = std::make_shared<Kernel>();
  const auto work = [module, name, shared_bytes, kernel] { return FindKernel(module, name, shared_bytes, kernel.get()); };
  return Napi::Value(info.Env(),
                     Async(info.Env(), work, [kernel](napi_env env) -> napi_value { return Present(env, kernel); }));
}

}  // namespace

void ExportModule(Napi::Env env, Napi::Object exports) {
  exports.Set("moduleLoad", Napi::Function::New<ModuleLoad>(env, "moduleLoad"));
  exports.Set("moduleUnload", Napi::Function::New<ModuleUnload>(env, "moduleUnload"));
  exports.Set("moduleKernel", Napi::Function::New<ModuleKernel>(env, "moduleKernel"));
}

}  // namespace zerohop
