#include "environment.h"

#include <algorithm>
#include <utility>

#include "../core/executor.h"
#include "../core/unasked.h"
#include "../core/waiter.h"
#include "errors.h"

namespace zerohop {

namespace {

// The environments that there are, for what concerns the process: the first one that takes it gets it.
struct Channels {
  std::mutex mutex;
  std::vector<std::weak_ptr<Channel>> open;
};

Channels& TheChannels() {
  static Channels* channels = new Channels;
  return *channels;
}

void WarnSomebody(Status status) {
  auto task = std::make_unique<Task>();
  task->status = std::move(status);
  Channels& channels = TheChannels();
  std::lock_guard<std::mutex> lock(channels.mutex);
  for (const auto& each : channels.open) {
    const auto channel = each.lock();
    if (channel != nullptr && channel->Post(&task)) return;
  }
}

void OpenChannel(const std::shared_ptr<Channel>& channel) {
  Channels& channels = TheChannels();
  std::lock_guard<std::mutex> lock(channels.mutex);
  const auto ended = [](const std::weak_ptr<Channel>& each) { return each.expired(); };
  channels.open.erase(std::remove_if(channels.open.begin(), channels.open.end(), ended), channels.open.end());
  channels.open.push_back(channel);
  ListenUnasked(WarnSomebody);
}

}  // namespace

bool Environment::Install(napi_env env) {
  auto* environment = new Environment;
  const auto destroy = [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); };
  if (napi_set_instance_data(env, environment, destroy, nullptr) != napi_ok) {
    delete environment;
    return false;
  }
  // Hooks run in reverse order, so this one comes before Node-API's own, which finalizes everything else.
  const auto close_gate = [](void* data) { static_cast<Environment*>(data)->channel_->js_memory_.Close(); };
  if (napi_add_env_cleanup_hook(env, close_gate, environment) != napi_ok) return false;
  napi_value name = nullptr;
  if (napi_create_string_utf8(env, "zerohop", NAPI_AUTO_LENGTH, &name) != napi_ok) return false;
  // The finalizer runs on the JS thread before Node frees the function: from then on Post drops what it is given.
  auto* context = new std::shared_ptr<Channel>(environment->channel_);
  const auto close = [](napi_env, void* data, void*) {
    auto* channel = static_cast<std::shared_ptr<Channel>*>(data);
    {
      std::lock_guard<std::mutex> lock((*channel)->mutex_);
      (*channel)->function_ = nullptr;
    }
    delete channel;
  };
  napi_threadsafe_function function = nullptr;
  if (napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, context, close, context, Deliver, &function) !=
      napi_ok) {
    delete context;
    return false;
  }
  napi_unref_threadsafe_function(env, function);
  environment->channel_->function_ = function;
  OpenChannel(environment->channel_);
  return true;
}

Environment* Environment::Get(napi_env env) {
  void* data = nullptr;
  napi_get_instance_data(env, &data);
  return static_cast<Environment*>(data);
}

void Environment::SetErrorFactory(napi_env env, napi_value factory) {
  if (error_factory_ != nullptr) napi_delete_reference(env, error_factory_);
  napi_create_reference(env, factory, 1, &error_factory_);
}

void Environment::SetWarner(napi_env env, napi_value warner) {
  if (warner_ != nullptr) napi_delete_reference(env, warner_);
  napi_create_reference(env, warner, 1, &warner_);
}

napi_value Environment::ErrorFactory(napi_env env) const {
  napi_value factory = nullptr;
  napi_get_reference_value(env, error_factory_, &factory);
  return factory;
}

void* Environment::LaunchArea(napi_env env, napi_value* buffer) {
  if (launch_area_ == nullptr) {
    napi_ref reference = nullptr;
    if (napi_create_arraybuffer(env, kLaunchAreaBytes, &launch_area_, buffer) != napi_ok) return nullptr;
    // Kept until the environment ends.
    napi_create_reference(env, *buffer, 1, &reference);
  }
  return launch_area_;
}

napi_value Environment::Begin(napi_env env, std::unique_ptr<Task>* task) {
  auto made = std::make_unique<Task>();
  napi_value promise = nullptr;
  if (napi_create_promise(env, &made->deferred, &promise) != napi_ok) return nullptr;
  if (channel_->outstanding_++ == 0) {
    std::lock_guard<std::mutex> lock(channel_->mutex_);
    if (channel_->function_ != nullptr) napi_ref_threadsafe_function(env, channel_->function_);
  }
  *task = std::move(made);
  return promise;
}

bool Channel::Post(std::unique_ptr<Task>* task) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (function_ == nullptr) return false;
  if (napi_call_threadsafe_function(function_, task->get(), napi_tsfn_nonblocking) == napi_ok) {
    task->release();
    return true;
  }
  // The environment is ending; Node has given up our claim on the function, so it must not be used again.
  function_ = nullptr;
  return false;
}

// Raw Node-API calls whose status is ignored on purpose: when the environment is being torn down they fail, and there
// is nobody left to tell.
void Environment::Deliver(napi_env env, napi_value, void* context, void* data) {
  std::unique_ptr<Task> task(static_cast<Task*>(data));
  if (env == nullptr) return;
  Channel& channel = **static_cast<std::shared_ptr<Channel>*>(context);

  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return;
  if (task->deferred == nullptr) {
    Warn(env, task->status);
  } else {
    Settle(env, task.get());
    if (--channel.outstanding_ == 0) {
      std::lock_guard<std::mutex> lock(channel.mutex_);
      if (channel.function_ != nullptr) napi_unref_threadsafe_function(env, channel.function_);
    }
  }
  napi_close_handle_scope(env, scope);
}

void Environment::Warn(napi_env env, const Status& status) {
  napi_value undefined = nullptr;
  napi_value warner = nullptr;
  napi_get_undefined(env, &undefined);
  if (napi_get_reference_value(env, Get(env)->warner_, &warner) != napi_ok || warner == nullptr) return;
  napi_value error = MakeError(env, status);
  // It only emits a warning; the environment may be ending.
  if (napi_call_function(env, undefined, warner, 1, &error, nullptr) == napi_pending_exception) {
    napi_get_and_clear_last_exception(env, &error);
  }
}

void Environment::Settle(napi_env env, Task* task) {
  for (napi_ref reference : task->held) napi_delete_reference(env, reference);

  napi_value value = nullptr;
  if (task->status.ok()) {
    if (task->result) value = task->result(env);
    if (value == nullptr) napi_get_undefined(env, &value);
    bool pending = false;
    if (napi_is_exception_pending(env, &pending) == napi_ok && pending) {
      napi_get_and_clear_last_exception(env, &value);
      napi_reject_deferred(env, task->deferred, value);
    } else {
      napi_resolve_deferred(env, task->deferred, value);
    }
  } else {
    napi_reject_deferred(env, task->deferred, MakeError(env, task->status));
  }
}

napi_value Settled(napi_env env, const Status& status) {
  napi_deferred deferred = nullptr;
  napi_value promise = nullptr;
  if (napi_create_promise(env, &deferred, &promise) != napi_ok) return nullptr;
  if (status.ok()) {
    napi_value undefined = nullptr;
    napi_get_undefined(env, &undefined);
    napi_resolve_deferred(env, deferred, undefined);
  } else {
    napi_reject_deferred(env, deferred, MakeError(env, status));
  }
  return promise;
}

napi_value Async(napi_env env, std::function<Status()> work, std::function<napi_value(napi_env)> result,
                 const std::vector<napi_value>& held) {
  Environment* environment = Environment::Get(env);
  std::unique_ptr<Task> task;
  napi_value promise = environment->Begin(env, &task);
  if (promise == nullptr) return nullptr;
  task->result = std::move(result);
  for (napi_value value : held) {
    napi_ref reference = nullptr;
    if (napi_create_reference(env, value, 1, &reference) == napi_ok) task->held.push_back(reference);
  }
  // A std::function must be copyable, so the task travels as a bare pointer; it always runs.
  Execute([raw = task.release(), channel = environment->channel(), work = std::move(work)]() mutable {
    raw->status = work();
    // Captured native state may be released here or with the task; both are off the JS thread or harmless on it.
    work = nullptr;
    // Dropped when the environment has ended.
    std::unique_ptr<Task> task(raw);
    channel->Post(&task);
  });
  return promise;
}

napi_value AwaitOnLoop(napi_env env, const Context& context, CUevent event, std::function<void()> after) {
  Environment* environment = Environment::Get(env);
  std::unique_ptr<Task> task;
  napi_value promise = environment->Begin(env, &task);
  if (promise == nullptr) return nullptr;
  // As above: it always runs, once.
  AwaitEvent(context, event,
             [raw = task.release(), channel = environment->channel(), after = std::move(after)](Status status) {
               after();
               raw->status = std::move(status);
               std::unique_ptr<Task> task(raw);
               channel->Post(&task);
             });
  return promise;
}

}  // namespace zerohop
