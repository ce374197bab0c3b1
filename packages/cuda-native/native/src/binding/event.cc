#include "event.h"

#include "../core/event.h"
#include "arguments.h"
#include "environment.h"
#include "errors.h"
#include "napi_setup.h"
#include "wrap.h"

namespace zerohop {

namespace {

// eventCreate(device, timing)
Napi::Value EventCreate(const Napi::CallbackInfo& info) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  auto event = std::make_shared<Event>(context);
  const Status status = event->Create(info[1].As<Napi::Boolean>());
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  return Napi::Value(info.Env(), Wrap(info.Env(), event));
}

// eventDestroy(event)
Napi::Value EventDestroy(const Napi::CallbackInfo& info) {
  auto event = Unwrap<Event>(info.Env(), info[0]);
  if (event == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [event] { return event->Destroy(); }));
}

// eventQuery(event)
Napi::Value EventQuery(const Napi::CallbackInfo& info) {
  const auto* event = Peek<Event>(info.Env(), info[0]);
  if (event == nullptr) return Napi::Value();
  bool over = false;
  const Status status = event->Query(&over);
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  return Napi::Boolean::New(info.Env(), over);
}

// eventWait(event)
Napi::Value EventWait(const Napi::CallbackInfo& info) {
  auto event = Unwrap<Event>(info.Env(), info[0]);
  if (event == nullptr) return Napi::Value();
  bool over = false;
  const Status status = event->Query(&over);
  if (over || !status.ok()) return Napi::Value(info.Env(), Settled(info.Env(), status));
  return Napi::Value(info.Env(), AwaitOnLoop(info.Env(), event->context(), event->get(), [event] {}));
}

// eventElapsed(start, end): in milliseconds
Napi::Value EventElapsed(const Napi::CallbackInfo& info) {
  const auto* start = Peek<Event>(info.Env(), info[0]);
  const auto* end = Peek<Event>(info.Env(), info[1]);
  if (start == nullptr || end == nullptr) return Napi::Value();
  float milliseconds = 0;
  const Status status = end->ElapsedMs(*start, &milliseconds);
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  return Napi::Number::New(info.Env(), static_cast<double>(milliseconds));
}

}  // namespace

void ExportEvent(Napi::Env env, Napi::Object exports) {
  exports.Set("eventCreate", Napi::Function::New<EventCreate>(env, "eventCreate"));
  exports.Set("eventDestroy", Napi::Function::New<EventDestroy>(env, "eventDestroy"));
  exports.Set("eventQuery", Napi::Function::New<EventQuery>(env, "eventQuery"));
  exports.Set("eventWait", Napi::Function::New<EventWait>(env, "eventWait"));
  exports.Set("eventElapsed", Napi::Function::New<EventElapsed>(env, "eventElapsed"));
}

}  // namespace zerohop
