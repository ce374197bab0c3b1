// JPEG decoders and encoders.
#pragma once

namespace Napi {
class Env;
class Object;
}  // namespace Napi

namespace zerohop {

void ExportNvjpeg(Napi::Env env, Napi::Object exports);

}  // namespace zerohop
