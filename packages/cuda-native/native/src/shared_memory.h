// POSIX shared memory: named regions under /dev/shm, locked by their maker for as long as they are named.
#pragma once

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

void ExportSharedMemory(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
