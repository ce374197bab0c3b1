// Devices: what there is, and opening one.
#pragma once

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

void ExportDevice(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
