// Streams, and what waits for them.
#pragma once

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

void ExportStream(Napi::Env env, Napi::Object exports);
// The calls that add work to a stream.
void ExportEnqueue(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
