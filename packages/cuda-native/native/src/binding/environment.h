// What one JS environment (the main thread, or one worker) owns in the addon: the way back from the addon's threads to
// its event loop, and the JS function that makes errors. No state of an environment lives in statics.
#pragma once

#include <node_api.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "../core/context.h"
#include "../core/js_memory_gate.h"
#include "../core/status.h"

namespace zerohop {

// One promise on its way, or a warning when there is no promise. It is made and settled on the JS thread and may be destroyed on any thread: when the
// environment ends first, the promise is abandoned and only the captured native state is released.
struct Task {
  napi_deferred deferred = nullptr;
  Status status;
  // Makes the promise's value; on the JS thread.
  std::function<napi_value(napi_env)> result;
  // JS values kept alive while native code uses their memory.
  std::vector<napi_ref> held;
};

// Carries finished tasks to one event loop. Shared by the environment and the tasks in flight, so that a task which
// outlives its environment finds a closed door instead of freed memory.
class Channel {
 public:
  // From any thread. Leaves the task where it is, and gives false, when the environment has ended.
  bool Post(std::unique_ptr<Task>* task);
  // To be held open around every access to an ArrayBuffer's memory off the JS thread.
  JsMemoryGate& js_memory() { return js_memory_; }

 private:
  friend class Environment;
  std::mutex mutex_;
  napi_threadsafe_function function_ = nullptr;
  JsMemoryGate js_memory_;
  // Unsettled tasks; only used on the JS thread. The event loop is kept alive while there are any.
  size_t outstanding_ = 0;
};

class Environment {
 public:
  static bool Install(napi_env env);
  static Environment* Get(napi_env env);

  // Sets the function that turns the fields of a Status into an Error.
  void SetErrorFactory(napi_env env, napi_value factory);
  napi_value ErrorFactory(napi_env env) const;

  // Memory that JS writes a launch's sizes and arguments into, so that they need no unpacking; made on the first call,
  // which gives its buffer. Its size is what kernels may take as arguments at most, and the sizes.
  static constexpr size_t kLaunchAreaBytes = 64 + 32764;
  void* LaunchArea(napi_env env, napi_value* buffer);

  // Sets the function that gets the errors which no promise carries.
  void SetWarner(napi_env env, napi_value warner);

  // Makes a promise and counts it. `task` is completed by whoever takes it, through Channel::Post.
  napi_value Begin(napi_env env, std::unique_ptr<Task>* task);
  const std::shared_ptr<Channel>& channel() const { return channel_; }

 private:
  static void Deliver(napi_env env, napi_value callback, void* context, void* data);
  static void Settle(napi_env env, Task* task);
  static void Warn(napi_env env, const Status& status);

  std::shared_ptr<Channel> channel_ = std::make_shared<Channel>();
  napi_ref error_factory_ = nullptr;
  napi_ref warner_ = nullptr;
  void* launch_area_ = nullptr;
};

// A promise that is already settled.
napi_value Settled(napi_env env, const Status& status);

// Runs `work` on the addon's threads and gives a promise for `result`, which is called on the JS thread when `work`
// succeeded; without `result` the value is undefined. `held` names JS values to keep alive meanwhile.
napi_value Async(napi_env env, std::function<Status()> work, std::function<napi_value(napi_env)> result = nullptr,
                 const std::vector<napi_value>& held = {});

// A promise for the end of an event's work, on the waiter's thread; `after` runs there when it is over.
napi_value AwaitOnLoop(napi_env env, const Context& context, CUevent event, std::function<void()> after);

}  // namespace zerohop
