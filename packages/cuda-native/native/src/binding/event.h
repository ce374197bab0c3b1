// Events.
#pragma once

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

void ExportEvent(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
