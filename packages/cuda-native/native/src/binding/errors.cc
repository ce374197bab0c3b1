#include "errors.h"

#include <string>

#include "../core/driver_api.h"
#include "environment.h"
#include "napi_setup.h"

namespace zerohop {

namespace {

const char* SourceName(Status::Source source) {
  switch (source) {
    case Status::Source::kCuda:
      return "cuda";
    case Status::Source::kNvjpeg:
      return "nvjpeg";
    case Status::Source::kSystem:
      return "system";
    case Status::Source::kUnavailable:
      return "unavailable";
    case Status::Source::kSharedMemory:
      return "shared-memory";
    case Status::Source::kNone:
      break;
  }
  return "none";
}

}  // namespace

napi_value MakeError(napi_env env, const Status& status) {
  std::string name;
  std::string text;
  if (status.source == Status::Source::kCuda) Describe(status.code, &name, &text);

  Napi::Object fields = Napi::Object::New(env);
  fields.Set("source", SourceName(status.source));
  fields.Set("status", status.code);
  fields.Set("call", status.call);
  fields.Set("reason", status.reason);
  fields.Set("detail", status.detail);
  fields.Set("device", status.device);
  fields.Set("name", name);
  fields.Set("text", text);
  fields.Set("sticky", status.sticky);
  fields.Set("refused", status.refused);

  napi_value factory = Environment::Get(env)->ErrorFactory(env);
  napi_value undefined = nullptr;
  napi_value argument = fields;
  napi_value error = nullptr;
  napi_get_undefined(env, &undefined);
  if (napi_call_function(env, undefined, factory, 1, &argument, &error) == napi_ok) return error;
  // The factory threw (or the environment is ending): what it threw is the best error there is.
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending &&
      napi_get_and_clear_last_exception(env, &error) == napi_ok) {
    return error;
  }
  return undefined;
}

void Throw(napi_env env, const Status& status) { napi_throw(env, MakeError(env, status)); }

}  // namespace zerohop
