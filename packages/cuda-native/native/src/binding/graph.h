// Capturing work of a stream into graphs.
#pragma once

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

void ExportGraph(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
