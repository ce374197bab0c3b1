// The functions of POSIX shared memory that JS calls.
#pragma once

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

void ExportSharedMemory(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
