// Modules and their kernels.
#pragma once

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

void ExportModule(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
